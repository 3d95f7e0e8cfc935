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

/* Reads a number that record_add_number wrote. */
KV_MUST_CHECK bool record_get_number(struct kv_bytes *b, uint64_t *np);

/*
 * A field of a record. A list of them writes a record and reads it, so that both
 * sides have the same order and limits. Made by a macro, of what has the value.
 */
struct record_field {
	enum record_kind {
		RECORD_END = 0,
		RECORD_NUMBER,
		RECORD_TEXT,
		RECORD_TEXTS,
		RECORD_SPAN,
		RECORD_BYTES,
	} kind;
	void *at;
	size_t size;	   /* of that */
	uint64_t min, max; /* of a number that is read */
};

#define R_FIELD(what, p, len, least, most) \
	{ \
		.kind = RECORD_##what, .at = (void *)(p), .size = (len), \
		.min = (uint64_t)(least), .max = (uint64_t)(most), \
	}
/*
 * The size of a number, if union number has it: with another, a big-endian
 * processor would write the wrong bytes. If not, this does not compile.
 */
#define R_NUMBER_BYTES(x) \
	sizeof(char[sizeof(x) == 1 || sizeof(x) == 4 || sizeof(x) == 8 ? \
		(int)sizeof(x) : \
		-1])
/*
 * An integer, an enum or a bool, of 1, 4 or 8 bytes. None is read that it has
 * no room for.
 */
#define R_RANGE(x, least, most) \
	R_FIELD(NUMBER, &(x), R_NUMBER_BYTES(x), least, most)
#define R_NUMBER(x, most) R_RANGE(x, 0, most)
#define R_ANY(x) R_RANGE(x, 0, UINT64_MAX)
#define R_FLAG(x) R_RANGE(x, 0, 1)
/* Text in an array, or in cap bytes at p: none is read that does not fit. */
#define R_TEXT(array) R_TEXT_AT(array, sizeof(array))
#define R_TEXT_AT(p, cap) R_FIELD(TEXT, p, cap, 0, 0)
/* All bytes of x; a struct kv_span, which points into what is read. */
#define R_BYTES(x) R_FIELD(BYTES, &(x), sizeof(x), 0, 0)
#define R_SPAN(s) R_FIELD(SPAN, &(s), 0, 0, 0)
/* For writing alone: the value of an expression; a text; texts up to a NULL. */
#define R_VALUE(n) R_ANY((uint64_t){ (uint64_t)(n) })
#define R_STRING(text) R_TEXT_AT(text, 0)
#define R_STRINGS(texts) R_FIELD(TEXTS, texts, 0, 0, 0)

#define RECORD_FIELDS(...) \
	((const struct record_field[]){ __VA_ARGS__, { .kind = RECORD_END } })

/* Adds these fields to a record that was begun. */
#define record_add(o, ...) record_add_fields(o, RECORD_FIELDS(__VA_ARGS__))
void record_add_fields(struct record_out *o, const struct record_field *f);
/* Writes a record of these fields. */
#define record_send(o, tag, ...) \
	record_send_fields(o, tag, RECORD_FIELDS(__VA_ARGS__))
void record_send_fields(struct record_out *o, uint8_t tag,
    const struct record_field *f);
/* Writes a record of no fields, and flushes. */
void record_send_last(struct record_out *o, uint8_t tag);

/* Reads these fields. False if they are not there, or beyond their limits. */
#define record_get(b, ...) record_get_fields(b, RECORD_FIELDS(__VA_ARGS__))
KV_MUST_CHECK bool record_get_fields(struct kv_bytes *b,
    const struct record_field *f);
/* Reads these fields, and nothing may follow them. */
#define record_get_all(b, ...) (record_get(b, __VA_ARGS__) && (b)->left == 0)

#endif
