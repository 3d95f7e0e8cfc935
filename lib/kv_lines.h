/* SPDX-License-Identifier: ISC */
/* kv_lines: reads lines from a descriptor, through a buffer of fixed size. */
#ifndef KV_LINES_H
#define KV_LINES_H

#include <stdbool.h>

#include "kv_bytes.h"

struct kv_lines {
	int fd;
	uint8_t *buf; /* the caller's */
	size_t cap;
	size_t start, end; /* the bytes of buf that are unread */
	uint64_t number;   /* of the last line, from 1; lines too long count */
	bool eof;
	bool skipping; /* inside a line that was too long */
};

/*
 * fd stays open, and buf, of cap bytes, stays the caller's. A line must fit in
 * buf with its '\n'.
 */
void kv_lines_init(struct kv_lines *l, int fd, uint8_t *buf, size_t cap);

/*
 * Sets *linep to the next line without its '\n'. The span is good until the
 * next call. At the end of the file *morep is false and *linep is empty.
 * KV_ERR_LINE_TOO_LONG: the line does not fit; the next call skips the rest of
 * it. KV_ERR_SYSTEM (errno): read failed.
 */
KV_MUST_CHECK enum kv_err kv_lines_next(struct kv_lines *l,
    struct kv_span *linep, bool *morep);

#endif
