/* SPDX-License-Identifier: ISC */
/*
 * keys/block: collects the lines of a PEM block, which may stand inside another
 * text: in quotes, behind words, or behind the same bytes on each line, as in a
 * diff ("+") or a mail that quotes one ("> "), or behind a number or a time on
 * each line.
 */
#ifndef CLI_KEYS_BLOCK_H
#define CLI_KEYS_BLOCK_H

#include "kv_bytes.h"

/* What may stand before the BEGIN line, and again before each line. */
#define BLOCK_PREFIX_MAX_BYTES 256

/* The caller sets room, and the rest to zero. */
struct block {
	uint8_t **room; /* PEM_MAX_BYTES; allocated when the first begins */
	bool is_open;
	bool too_long; /* a part of it is missing */
	bool inside;   /* its BEGIN line stands inside another text */
	bool is_new;   /* only its BEGIN line was added */
	bool
	    is_keyless; /* as pem_is_keyless of its BEGIN line, for the owner */
	size_t len;	/* in room */
	uint8_t prefix[BLOCK_PREFIX_MAX_BYTES];
	size_t prefix_len; /* 0: none */
	bool varies;	   /* only the last byte of it is on each line */
	uint64_t line;	   /* of its BEGIN line */
};

/* Begins a block at this line of the text. False with errno. */
bool block_open(struct block *b, uint64_t line);

/* Adds a line to the open block. Returns true if it is the END line. */
bool block_add(struct block *b, struct kv_span line);

/* What was added so far. Valid until the block is closed. */
struct kv_span block_text(const struct block *b);

/*
 * Notes what stands before the BEGIN line of the open block in text: lines that
 * begin with the same bytes are the block's without them.
 */
void block_note_prefix(struct block *b, struct kv_span text);

/*
 * Splits a line of a block that began inside another text. Sets part to the
 * lines of the block that stand in it, without the prefix and quotes, and *restp
 * to what follows the END line. Returns how many there are: 0 if the line
 * cannot be the block's.
 */
size_t block_split(struct block *b, struct kv_span text,
    struct kv_span part[static 2], struct kv_span *restp);

/* Erases the block: it may be a private key. */
void block_close(struct block *b);

#endif
