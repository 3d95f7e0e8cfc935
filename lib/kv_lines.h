/* SPDX-License-Identifier: ISC */
/* kv_lines: lines from a descriptor, through one buffer of fixed size. */
#ifndef KV_LINES_H
#define KV_LINES_H

#include <stdbool.h>

#include "kv_bytes.h"

struct kv_lines {
	int fd;
	uint8_t *buf; /* the caller's */
	size_t cap;
	size_t start, end; /* what of buf is still unread */
	uint64_t number;   /* of the line last returned, from 1 */
	bool eof;
	bool skipping; /* inside a line that was too long */
};

/* buf of cap bytes stays the caller's and bounds the length of a line. */
void kv_lines_init(struct kv_lines *l, int fd, uint8_t *buf, size_t cap);

/*
 * Sets *linep to the next line without its '\n'; the span is good until the
 * next call. *morep turns false at the end of the file, and *linep is empty
 * then. KV_ERR_LINE_TOO_LONG for a line that does not fit (the rest of it is
 * skipped, and reading may go on); KV_ERR_SYSTEM (errno) on a read error.
 */
KV_MUST_CHECK enum kv_err kv_lines_next(struct kv_lines *l,
    struct kv_span *linep, bool *morep);

#endif
