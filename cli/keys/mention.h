/* SPDX-License-Identifier: ISC */
/*
 * keys/mention: finds where a private key stands in a text that nobody can read
 * as one: BEGIN ... PRIVATE KEY, with or without dashes, and 40 characters of
 * base64 in a row that begin within 200 bytes behind it. Blanks, quotes, tags,
 * what stood before BEGIN on its line, and other fields of a record of JSON do
 * not count. The text may be UTF-16, or base64 once more. A bare mention of such
 * a line is none. The forms never end: none is read here.
 */
#ifndef CLI_KEYS_MENTION_H
#define CLI_KEYS_MENTION_H

#include "kv_bytes.h"

/* The most letters of the words between BEGIN and PRIVATE KEY, and of these. */
#define MENTION_LABEL_BYTES 40
#define MENTION_TAIL_BYTES 64

/* Where a text is, byte by byte. */
struct mention_text {
	enum {
		MENTION_NONE,
		MENTION_LABEL,	/* behind BEGIN */
		MENTION_BEHIND, /* behind PRIVATE KEY */
	} at;
	uint64_t line; /* of BEGIN */
	char label[MENTION_LABEL_BYTES];
	size_t label_len;
	bool wide;	     /* UTF-16 */
	size_t left, all;    /* bytes until it was a bare mention */
	size_t tag;	     /* so long is this tag by now */
	bool held;	     /* it has a key, if it is none */
	size_t column, free; /* so much of a line does not count */
	int lines;	     /* that begin with what does not count */
	bool escaped;
	size_t run; /* base64 in a row */
	bool zeros; /* it begins with AAAA, as a public key */
	bool hex;   /* it is a checksum */
	/* Sums of what stood between the last two quotes, and of a field. */
	uint32_t token, last, field, now;
	bool quoted; /* a quote was the last byte but for blanks */
	/* left at the last quote, and at the one before. */
	size_t left_here, left_before;
};

/* The caller sets found, arg and ascii, and the rest to zero. */
struct mention {
	/* Is told the line where a private key begins. */
	void (*found)(uint64_t line, void *arg);
	void *arg;
	bool ascii; /* what is UTF-16 was read as such */

	struct mention_text text, inner; /* inner: what was base64 */
	uint32_t bits;			 /* of inner */
	int n_bits;
	uint8_t tail[MENTION_TAIL_BYTES]; /* of the base64 before */
	size_t tail_len;
	uint64_t tail_line;
	bool plus; /* the line before began with a + */
};

/* Reads a text of this line of a file. */
void mention_read(struct mention *m, struct kv_span text, uint64_t line);

/* Tells if the next line may have a key that began before it. */
bool mention_is_open(const struct mention *m);

/* A line, or a part of it, was read as a key: nothing goes on behind it. */
void mention_drop(struct mention *m);

#endif
