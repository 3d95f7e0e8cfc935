/* SPDX-License-Identifier: ISC */
/*
 * update/received: a filter while it is received, in the hidden file
 * .NAME.keyveto-part beside the one that it will replace. Only one process at a
 * time has that file. Its header is judged before the rest is received, and no
 * more bytes are accepted than the header says.
 */
#ifndef CLI_UPDATE_RECEIVED_H
#define CLI_UPDATE_RECEIVED_H

#include <limits.h>

#include "kv_pkbf.h"
#include "output/progress.h"

struct update_received {
	int dir; /* the caller's */
	char name[NAME_MAX + 1];
	bool named; /* it still has that name */
	int fd;
	/* For messages: the filter to replace, and the source of this one. */
	const char *path, *shown;
	off_t len;	    /* received so far */
	off_t expected;	    /* in all, by its header; 0: header not read yet */
	uint64_t max_bytes; /* not counting the header */
	/* Whether to receive this filter. It prints a reason itself. */
	bool (*judge)(const struct kv_pkbf_header *h, void *arg);
	void *arg;
	struct progress progress;
};

/*
 * Opens or makes the file, mode 0600, for the filter called name in dir; path
 * is for messages. p->len is what it holds already. False after a message, also
 * if another process has it.
 */
bool update_received_open(struct update_received *p, int dir, const char *name,
    const char *path);

/* Removes its name, so that it ends with this process. */
void update_received_unname(struct update_received *p);

/*
 * Truncates the file to at bytes, and judges the header if it is complete.
 * False after a message, as the two functions below.
 */
bool update_received_begin(struct update_received *p, off_t at);
/* Appends len bytes. */
bool update_received_add(struct update_received *p, const void *data,
    size_t len);
/* Call after the last byte. Whether the file is complete. */
bool update_received_end(struct update_received *p);

/* Closes the file. With keep, it stays for the next run, else it is removed. */
void update_received_close(struct update_received *p, bool keep);

#endif
