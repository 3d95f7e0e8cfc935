/* SPDX-License-Identifier: ISC */
/*
 * keys/inside: finds keys that stand inside another text or inside binary data:
 * in JSON, YAML, Terraform, scripts, in databases. No grammar of these is read.
 * The blob of an SSH key says what it is: a word of base64 that begins with AAAA
 * and the name of a key type is a key, or a damaged one.
 */
#ifndef CLI_KEYS_INSIDE_H
#define CLI_KEYS_INSIDE_H

#include "kv_sshkey.h"

/* All pointers are valid only during the call. */
struct inside_found {
	enum inside_is {
		INSIDE_KEY,
		INSIDE_BLOCK,	/* a whole one, as pem_read reads it */
		INSIDE_UNKNOWN, /* a key of a type that is unknown here */
		INSIDE_PROBLEM, /* what may be a key cannot be read */
		INSIDE_TEXT,	/* what is in no block */
	} is;
	const struct kv_sshkey *key;
	/* Of a key its comment, which is untrusted; the block, type or text. */
	struct kv_span text;
	const char *reason; /* of a problem */
};
typedef void (*inside_fn)(const struct inside_found *found, void *arg);

/*
 * Passes what looks like a key in text, which is a line, to f, in order, and what
 * is in no block of PEM. Escapes of JSON, C, HTML (&#43;) and URLs (%2B) are read;
 * lines behind an escaped line end that start with # are passed over. blob has
 * KV_BLOB_MAX_BYTES, for decoded keys. Returns how much looks like a key.
 */
size_t inside_find(struct kv_span text, uint8_t *blob, inside_fn f, void *arg);

#endif
