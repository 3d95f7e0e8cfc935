/* SPDX-License-Identifier: ISC */
/*
 * base/record: what one process of keyveto tells another, as records: u32
 * length, one byte of tag, then numbers (u64) and strings as SSH encodes them
 * (RFC 4251 section 5). The sender may read what others wrote: the receiver
 * checks each record as if a stranger had sent it.
 */
#ifndef CLI_BASE_RECORD_H
#define CLI_BASE_RECORD_H

#include <sys/types.h>

#include "kv_bytes.h"

/*
 * The longest record. The longest is a key with its line's comment, which may
 * be a line of 1 MiB, and the path of its file.
 */
#define RECORD_MAX_BYTES (2 * 1024 * 1024)

/*
 * The sender's side. It starts as zeros, but for fd. If a write fails, memory
 * runs out, or a record gets too long, the process ends with _exit(1).
 */
struct record_out {
	int fd;		   /* -1: the records stay in buf */
	size_t start, len; /* of the unfinished record; of all */
	size_t cap;
	uint8_t *buf;
};

void record_begin(struct record_out *o, uint8_t tag);
void record_add_number(struct record_out *o, uint64_t n);
void record_add_bytes(struct record_out *o, const void *p, size_t len);
void record_add_text(struct record_out *o, const char *text);
void record_end(struct record_out *o);
/* Writes the finished records to fd. record_end only buffers them. */
void record_flush(struct record_out *o);
/* Forgets all records, and keeps the memory for others. */
void record_clear(struct record_out *o);
/* Appends the finished records of another to those of o. */
void record_append(struct record_out *o, const struct record_out *other);
void record_out_free(struct record_out *o);

/* The receiver's side. All zeroes: empty. Freed by record_in_free. */
struct record_in {
	uint8_t *buf;
	size_t start, end, cap;
};

/*
 * Reads once from fd, and returns how many bytes. 0 at the end, -1 with errno:
 * EMSGSIZE if RECORD_MAX_BYTES are waiting for record_next.
 */
ssize_t record_fill(struct record_in *in, int fd);
/*
 * Takes the next whole record. The payload is valid until the next record_fill.
 * False if there is none yet; *badp is set if the length is invalid, so no
 * record can follow.
 */
bool record_next(struct record_in *in, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp);
void record_in_free(struct record_in *in);

/*
 * Cuts a record off the front of b. False if it is not whole; *badp is set as
 * by record_next.
 */
bool record_cut(struct kv_bytes *b, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp);

/*
 * Reads a string of less than cap bytes without a NUL, and copies it to text. False
 * for any other.
 */
KV_MUST_CHECK bool record_get_text(struct kv_bytes *b, char *text, size_t cap);
/* Returns a copy of a string without a NUL, to be freed. NULL for any other. */
char *record_copy_text(struct kv_bytes *b);

/* Reads a number that record_add_number wrote; one of at most max; 0 or 1. */
KV_MUST_CHECK bool record_get_number(struct kv_bytes *b, uint64_t *np);
KV_MUST_CHECK bool record_get_limited(struct kv_bytes *b, uint64_t max,
    uint64_t *np);
KV_MUST_CHECK bool record_get_flag(struct kv_bytes *b, bool *flagp);

#endif
