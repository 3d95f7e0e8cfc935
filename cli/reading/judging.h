/* SPDX-License-Identifier: ISC */
/*
 * reading/judging: judges keys by a configuration, filters and lists, of which
 * this process reads the configuration alone. It opens the others, and
 * keyveto-reader looks the keys up in them.
 */
#ifndef CLI_READING_JUDGING_H
#define CLI_READING_JUDGING_H

#include "keys/input.h"
#include "reading/facts.h"
#include "reading/finding.h"
#include "reading/report.h"
#include "reading/talk.h"

struct judging {
	/*
	 * The configuration, and what the reader says of the filters and lists,
	 * whose descriptors only say whether they are open: nothing is read
	 * here. It stands for the whole: the functions below get it.
	 */
	struct kv_judge judge;
	struct facts_date *date;       /* of each list */
	struct judging_reader *reader; /* of judging.c */
};

/*
 * As kv_judge_open_with, but the filters and lists are not known before
 * judging_start; the arrays of paths must live as long as j, too. Always call
 * judging_close.
 */
void judging_open(struct judging *j, const char *config,
    const struct kv_paths *paths, kv_open_fn open, void *arg);

/*
 * For such an open, of a file that is open as fd: gives it another descriptor,
 * by which it cannot be written.
 */
enum kv_err judging_reopen(int fd, const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES]);

/*
 * Starts the reader, if there is a file to look into, and sets what it says of
 * the files. False with a sentence about the reader, without which no key has a
 * verdict. It can lie about each key, as the files may, and no more.
 */
bool judging_start(struct judging *j, char why[static WALL_WHY_BYTES]);

/*
 * Does the same for keyveto check: the reader judges the keys of files that it
 * gets. The caller sends them by the talk that this returns, whose answer,
 * took_answers and arg it sets, and ends. quiet: walls are not warned of.
 */
struct talk *judging_start_report(struct judging *j, unsigned int flags,
    uint64_t total, bool quiet, char why[static WALL_WHY_BYTES]);

/* Hands the files over to a reader of keys, which READING_JUDGED lets judge. */
void judging_hand_over(const struct kv_judge *judge, struct talk *t);

/*
 * Sets what that reader says of them in READING_FACTS, unless judging_start did.
 * False if it is nothing that a reader says.
 */
KV_MUST_CHECK bool judging_receive_facts(const struct kv_judge *judge,
    struct kv_bytes payload);

/* Why the first filter or list that is not open is not. NULL: all are. */
const char *judging_find_unopened(const struct kv_judge *judge);

/* The descriptor of a file of the judge, which stays its own, or -1. */
int judging_find_file(const struct kv_judge *judge, const char *path);

/*
 * As input_judge, for the judge of a struct judging. Without judging_start, the
 * first call is one. Once the reader has failed, no key has a verdict.
 */
void judging_key(const struct kv_judge *judge, const struct input_key *key,
    int64_t now, struct kv_decision *d);

/* Sets the decision about a key to the verdict in f, which a reader sent. */
void judging_decide(const struct kv_judge *judge, const struct finding *f,
    const struct kv_pubkey *key, struct kv_decision *d);

/* Is a finding_name_fn: for sources of such decisions. */
void judging_name_source(const struct kv_judge *judge, size_t list, uint8_t id,
    char name[static KV_SOURCE_NAME_BYTES]);

/* Has a report judge by a struct judging. */
void judging_report(struct report *r, const struct kv_judge *judge);

/* Whether the reader never failed, with a sentence if it did. */
bool judging_close(struct judging *j, char why[static WALL_WHY_BYTES]);

#endif
