/* SPDX-License-Identifier: ISC */
/*
 * keys/found: the end of the chain behind keys/input: passes the keys and
 * problems that its stages find to the sink, and counts them.
 */
#ifndef CLI_KEYS_FOUND_H
#define CLI_KEYS_FOUND_H

#include "keys/input.h"
#include "keys/pem.h"

struct found {
	const struct input_sink *sink;
	const char *path;
	uint64_t line;	    /* number of the line that is being read */
	uint64_t n;	    /* keys and problems so far */
	struct owner owner; /* of the text that is being read */
	const struct owner_finding *finding; /* that it is of; NULL: none */
};

void found_problem(struct found *f, uint64_t line, const char *reason);
void found_note(struct found *f, uint64_t line, const char *text);

/* Reports a well-formed key of a type that is unknown here. */
void found_unknown_type(struct found *f, struct kv_span type);

/* Passes on a key, and the CA's key if it is a certificate. */
void found_key(struct found *f, uint64_t line, const struct kv_sshkey *key,
    struct kv_span comment);

/* Reports a key of which only the fingerprint is known, in a finding. */
void found_fingerprint(struct found *f,
    const uint8_t digest[static KV_SHA256_BYTES]);

void found_pem_key(struct found *f, uint64_t line, const struct pem_key *key);

#endif
