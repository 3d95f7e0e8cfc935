/* SPDX-License-Identifier: ISC */
/* keys/utf16: UTF-16 becomes UTF-8, in pieces of any size. */
#ifndef CLI_KEYS_UTF16_H
#define CLI_KEYS_UTF16_H

#include "kv_bytes.h"

/* How much room a character of UTF-8 needs. */
#define UTF16_ROOM 4

/* The caller sets big, and the rest to zero. */
struct utf16 {
	bool big;	 /* the high byte of a unit comes first */
	bool started;	 /* a unit was converted */
	size_t ascii;	 /* units in a row whose bytes are ASCII */
	uint8_t last[2]; /* the unit before */
};

/*
 * Tells if data without a byte order mark starts as UTF-16 of ASCII letters,
 * and sets *bigp.
 */
bool utf16_is_start(struct kv_span data, bool *bigp);

/* Tells if the text goes on as 8-bit text, by its last units. */
bool utf16_is_ascii(const struct utf16 *u);

/*
 * Converts what fits from the start of in, and removes it from there. more: in
 * goes on, so its last unit may be the first of a pair. With stop it ends where
 * utf16_is_ascii is true. Surrogates without the other one are converted like
 * other units; a byte order mark at the start is left out. Returns how many
 * bytes are in out.
 */
size_t utf16_convert(struct utf16 *u, struct kv_span *in, bool more, bool stop,
    uint8_t *out, size_t cap);

#endif
