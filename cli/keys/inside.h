/* SPDX-License-Identifier: ISC */
/*
 * keys/inside: finds keys that stand inside another text or inside binary data:
 * in JSON, YAML, Terraform, LDIF, scripts, in base64 once more, in databases.
 * No grammar of these is read. The blob of an SSH key says what it is: base64
 * that begins with AAAA and the name of a key type is a key, or a damaged one.
 */
#ifndef CLI_KEYS_INSIDE_H
#define CLI_KEYS_INSIDE_H

#include "kv_sshkey.h"

/* All pointers are valid only during the call. */
struct inside_found {
	enum inside_is {
		INSIDE_KEY,
		INSIDE_BLOCK,	/* a whole one, as pem_read reads it */
		INSIDE_BEGIN,	/* a BEGIN line, whose block goes on behind */
		INSIDE_UNKNOWN, /* a key of a type that is unknown here */
		INSIDE_PROBLEM, /* what may be a key cannot be read */
	} is;
	const struct kv_sshkey *key;
	/* Of a key its comment, which is untrusted; the block, line or type. */
	struct kv_span text;
	const char *reason; /* of a problem */
};
typedef void (*inside_fn)(const struct inside_found *found, void *arg);

/*
 * Passes what looks like a key in text to f, in order; to nobody if f is NULL.
 * text is a line, or several joined ones. Escapes of JSON, C, HTML (&#43;) and
 * URLs (%2B) are read; lines behind an escaped line end that start with # are
 * passed over. A long word of base64 is decoded, unpacked if it is gzip, and
 * searched, too, twice at most. blob has KV_BLOB_MAX_BYTES, for decoded keys.
 * Returns how much it found.
 */
size_t inside_find(struct kv_span text, uint8_t *blob, inside_fn f, void *arg);

/*
 * Replaces the escapes in text, once and in place. Returns whether there was any,
 * and sets *lenp to the new length.
 */
bool inside_unescape(uint8_t *text, size_t *lenp);

/* Whether text is one word of base64, which may go on in the next line. */
bool inside_is_base64(struct kv_span text);

/* Tells if a text is the base64 of a key, or of a certificate of usual length. */
bool inside_is_key(struct kv_span text);

#endif
