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

/* All pointers are valid only during the callback. */
struct inside_sink {
	/* The comment is untrusted text; empty if there is none. */
	void (*key)(const struct kv_sshkey *key, struct kv_span comment,
	    void *arg);
	/* A whole block, as pem_read reads it. */
	void (*pem)(struct kv_span block, void *arg);
	/* A BEGIN line of a block that goes on behind the text. */
	void (*begin)(struct kv_span line, void *arg);
	/* Something that may be a key cannot be read. */
	void (*problem)(const char *reason, void *arg);
	/* A key of this type, which is unknown here. */
	void (*unknown)(struct kv_span type, void *arg);
	void *arg;
};

/*
 * Passes what looks like a key in text to the sink, in order. text is a line,
 * or several joined ones. Escapes of JSON, C, HTML (&#43;) and URLs (%2B) are
 * read; lines behind an escaped line end that start with # are passed over. A
 * long word of base64 is decoded, unpacked if it is gzip, and searched, too,
 * twice at most. blob has KV_BLOB_MAX_BYTES, for decoded keys. Returns how
 * often it called a function of the sink.
 */
size_t inside_find(struct kv_span text, uint8_t *blob,
    const struct inside_sink *sink);

/* Whether text is one word of base64, which may go on in the next line. */
bool inside_is_base64(struct kv_span text);

#endif
