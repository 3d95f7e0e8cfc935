/* SPDX-License-Identifier: ISC */
/*
 * update/received: a filter while it is being received, in a hidden file
 * .NAME.keyveto-part beside the one it is to replace, which one process at a
 * time has. What cannot become that filter is refused as soon as its header is
 * there: it is judged before the rest is received, and no more than it says is
 * taken.
 */
#ifndef CLI_UPDATE_RECEIVED_H
#define CLI_UPDATE_RECEIVED_H

#include <limits.h>

#include "kv_pkbf.h"
#include "output/progress.h"

struct update_received {
	int dir; /* the caller's */
	char name[NAME_MAX + 1];
	bool named; /* it still goes by that */
	int fd;
	/* For messages: that filter, and where this one comes from. */
	const char *path, *shown;
	off_t len;	    /* received so far */
	off_t expected;	    /* in all, by its header; 0 before that */
	uint64_t max_bytes; /* without the header */
	/* Says what is wrong before it returns false. */
	bool (*judge)(const struct kv_pkbf_header *h, void *arg);
	void *arg;
	struct progress progress;
};

/*
 * Opens the file for the filter called name in dir, and path in messages, with
 * what there is of it: p->len. Mode 0600. False after a message; another
 * process may have it.
 */
bool update_received_open(struct update_received *p, int dir, const char *name,
    const char *path);

/* Takes its name away: nothing of it outlives this process. */
void update_received_unname(struct update_received *p);

/* Drops what is beyond at; what is left is judged, if that is possible. */
bool update_received_begin(struct update_received *p, off_t at);
bool update_received_add(struct update_received *p, const void *data,
    size_t len);
/* After the last: whether it is all there. */
bool update_received_end(struct update_received *p);

/* Closes it; what was received stays for the next run only if keep. */
void update_received_close(struct update_received *p, bool keep);

#endif
