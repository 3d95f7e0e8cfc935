/* SPDX-License-Identifier: ISC */
/*
 * keys/fold: joins the lines that a text was folded to: in LDIF (RFC 2849), one
 * that starts with a blank goes on; base64 is cut into lines of one length, which
 * a diff or a mail may begin with a mark ("+", "> ").
 */
#ifndef CLI_KEYS_FOLD_H
#define CLI_KEYS_FOLD_H

#include "kv_bytes.h"

/* The longest line that is joined. */
#define FOLD_MAX_BYTES (1024 * 1024)

/* It starts as zeros. */
struct fold {
	uint8_t *text; /* NULL: no line is joined */
	size_t len, cap;
	uint8_t mark;  /* before each line of base64; 0: none */
	size_t width;  /* length of the first line of base64 */
	bool ended;    /* a shorter line of base64, or padding, was the last */
	uint64_t line; /* number of the first */
	bool ldif;     /* else base64 */
};

/* Tells if a line starts an entry of LDIF. */
bool fold_is_dn(struct kv_span text);

/* Tells if a line of LDIF may go on in the next one. */
bool fold_is_attribute(struct kv_span text);

/* Tells if a line is blank: it ends an entry of LDIF. */
bool fold_is_blank(struct kv_span text);

/*
 * Starts to join lines with this one. False if it is not folded, or there is
 * no memory.
 */
bool fold_start(struct fold *f, struct kv_span text, bool ldif, uint64_t line);

/* Adds the next line. False if it does not belong to those before. */
bool fold_add(struct fold *f, struct kv_span text);

/* Erases what was joined. */
void fold_free(struct fold *f);

#endif
