/* SPDX-License-Identifier: ISC */
/*
 * confirm/keep: what stays of a confirmation, in a folder (/var/lib/keyveto):
 *
 *   proofs/ID.json              the proof of each confirmed key
 *   confirmed.dat               an exact list of these keys, for logins
 *   confirmed.dat.sources       which names its source "confirmed"
 *   .keyveto-not-confirmed      the keys that a publisher did not have lately
 *
 * So a run that was cut short goes on where it ended. Each proof and the list
 * are replaced in one step. A proof that is kept counts only if it verifies.
 * Files that others can write are not believed.
 */
#ifndef CLI_CONFIRM_KEEP_H
#define CLI_CONFIRM_KEEP_H

#include <limits.h>

#include "confirm/hits.h"
#include "sets/list_writer.h"

#define KEEP_NAME "confirmed"
/* For so long a publisher is not asked about the same key again. */
#define KEEP_ABSENT_SECONDS 86400

struct keep {
	const char *folder; /* NULL: nothing is kept */
	char list[PATH_MAX];
	char absent[PATH_MAX];
	int absent_fd; /* to append to */
	void *by_id;   /* a tree of tsearch(3) of ids that are absent */
};

/*
 * Makes the folder for proofs, and reads which keys the publisher at url did not
 * have by now. With folder NULL nothing is read or kept. False after a message.
 * Always call keep_close.
 */
bool keep_open(struct keep *k, const char *folder, const char *url,
    int64_t now);

/* Whether a proof of the key is kept, and verifies. */
bool keep_has_proof(const struct keep *k, const struct hit *hit);

/* Whether the publisher did not have the key, at most a day ago. */
bool keep_was_absent(const struct keep *k, const struct hit *hit);

/* Keep a proof, or that the publisher does not have the key. False after a
 * message. */
bool keep_proof(const struct keep *k, const struct hit *hit, int proof,
    size_t len);
bool keep_absent(const struct keep *k, const struct hit *hit, const char *url,
    int64_t now);

/* The path of the proof of a key, to be freed. NULL if out of memory. */
char *keep_proof_path(const struct keep *k, const struct hit *hit);

/*
 * Puts the keys of the batch into the list, which everybody may read if logins
 * consult it. Sets *changedp to whether one was new. False after a message.
 */
bool keep_list(const struct keep *k, struct list_batch *batch, bool consulted,
    bool *changedp);

void keep_close(struct keep *k);

/* The source of the keys in the list. */
#define KEEP_SOURCE_ID 1

#endif
