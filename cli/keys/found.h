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
	uint64_t line; /* number of the line that is being read */
	uint64_t n;    /* keys and problems so far */
	bool archive;  /* the problem is one, as in struct input_problem */
};

void found_problem(struct found *f, uint64_t line, const char *reason);

/* Reports a well-formed key of a type that is unknown here. */
void found_unknown_type(struct found *f, struct kv_span type);

/* Passes on a key, and the CA's key if it is a certificate. */
void found_key(struct found *f, uint64_t line, const struct kv_sshkey *key,
    struct kv_span comment);

void found_pem_key(struct found *f, uint64_t line, const struct pem_key *key);

#endif
