/* SPDX-License-Identifier: ISC */
/*
 * sets/filter_judge: judges a filter that is to be installed, and compares it
 * with the installed one. keyveto-worker does, and tells what it found.
 */
#ifndef CLI_SETS_FILTER_JUDGE_H
#define CLI_SETS_FILTER_JUDGE_H

#include "base/record.h"
#include "sets/filter_facts.h"

/* --- a header ----------------------------------------------------------- */

/* The start of a file, which may be no filter, or only a part of one. */
struct filter_head {
	enum kv_err whole; /* as kv_pkbf_open_fd has it */
	int error;	   /* errno, if that is KV_ERR_SYSTEM */
	enum kv_err header_err;
	struct kv_pkbf_header header; /* if header_err is KV_OK */
};

void filter_head_read(int fd, struct filter_head *f);
/* Adds it to a record that was begun. */
void filter_head_put(struct record_out *o, const struct filter_head *f);
/* Takes it, as a stranger may tell it. False for what none of ours tells. */
KV_MUST_CHECK bool filter_head_get(struct kv_bytes b, struct filter_head *f);

/* --- a whole filter ----------------------------------------------------- */

struct filter_judged {
	bool ok; /* filter_judge, and filter_compare if asked for, were true */
	struct filter_facts facts;
	/* Of filter_compare. */
	uint64_t old_set; /* bits of the old filter */
	uint64_t lost;	  /* not in the new one; 0 if k or p differ */
};

/*
 * Reads all of the filter that is open as fd. False after a message that says
 * why it must not be used; shown is its name in messages.
 */
bool filter_judge(const char *shown, int fd, double max_rate,
    struct filter_facts *facts);

/*
 * Compares it with an old filter. j->facts are of the new one. False after a
 * message.
 */
bool filter_compare(const struct filter_side *old,
    const struct filter_side *new, struct filter_judged *j);

void filter_judged_put(struct record_out *o, const struct filter_judged *j);
/* path is for facts. The old filter has so many bits. */
KV_MUST_CHECK bool filter_judged_get(struct kv_bytes b, const char *path,
    uint64_t old_bits, struct filter_judged *j);

#endif
