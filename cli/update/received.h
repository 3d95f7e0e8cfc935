/* SPDX-License-Identifier: ISC */
/*
 * update/received: a filter while it is received, in its update/part. Its
 * header is judged as soon as it is there, and no more bytes are accepted than
 * it says.
 */
#ifndef CLI_UPDATE_RECEIVED_H
#define CLI_UPDATE_RECEIVED_H

#include "kv_pkbf.h"
#include "base/progress.h"
#include "update/part.h"

struct update_received {
	struct update_part *part; /* the caller's */
	const char *shown;	  /* for messages: the source of this filter */
	const char *if_other;	  /* what to do if it is none: "correct URL" */
	off_t expected;	    /* in all, by its header; 0: header not read yet */
	uint64_t max_bytes; /* not counting the header */
	/* Whether to receive this filter. It prints a reason itself. */
	bool (*judge)(const struct kv_pkbf_header *h, void *arg);
	void *arg;
	struct progress *progress; /* the caller's */
};

/*
 * Truncates the file to at bytes, and judges the header if it is complete.
 * False after a message, as the two functions below.
 */
bool update_received_begin(struct update_received *p, off_t at);
/* Counts len bytes more in the file; 0: with errno, they could not be written. */
bool update_received_count(struct update_received *p, size_t len);
/* Call after the last byte. Whether the file is complete. */
bool update_received_end(struct update_received *p);

#endif
