/* SPDX-License-Identifier: ISC */
/*
 * keys/kind: what a text is, by its first line that says so. Until then, the
 * lines that hold nothing like a key are kept: in a file of keys they are
 * problems.
 */
#ifndef CLI_KEYS_KIND_H
#define CLI_KEYS_KIND_H

#include "keys/found.h"

enum kind_is {
	KIND_UNKNOWN,
	/*
	 * Lines of one key each, as sshd and ssh read them. Another line is a
	 * problem, unless the file was found in a directory.
	 */
	KIND_LINES,
	/* Any other text, which may hold keys. */
	KIND_TEXT,
};

/* It starts as zeros, or as a kind that is known. */
struct kind {
	enum kind_is is;
	bool has_block; /* a PEM block began */
	struct kind_empty *empty;
	size_t n_empty;
};

/* Decides what kind of text this is, if it is not known yet. */
void kind_decide(struct kind *k, enum kind_is is, struct found *f);

/* Notes that a PEM block begins. */
void kind_add_block(struct kind *k, struct found *f);

/* Notes the line f->line, which holds nothing like a key. */
void kind_add_empty(struct kind *k, enum kv_err reason, struct found *f);

/* Reports a file that was named and holds nothing like a key. Frees k. */
void kind_finish(struct kind *k, struct found *f);

#endif
