/* SPDX-License-Identifier: ISC */
/*
 * pem: keys in the forms that OpenSSL, OpenSSH and PuTTY read: PEM and DER
 * public keys (SPKI, PKCS#1), X.509 certificates and requests, private key
 * files, RFC 4716. Nobody is ever asked for a passphrase. Safe to be called
 * from many threads.
 */
#ifndef CLI_KEYS_PEM_H
#define CLI_KEYS_PEM_H

#include "kv_sshkey.h"

/* Longest block that is read; a key needs a few KiB. */
#define PEM_MAX_BYTES (1024 * 1024)

/* A key in memory of its own; ended by pem_key_free. */
struct pem_key {
	struct kv_sshkey ssh; /* ssh.key.type KV_KEY_NONE: no SSH form */
	uint8_t *blob;	      /* what ssh points into */
	uint8_t *spki;	      /* DER, when there is no SSH form */
	size_t spki_len;
	/* When there is no SSH form, one word: "EC-secp256k1", "X25519". */
	char type[KV_KEYTYPE_NAME_BYTES];
	unsigned int bits;
	char comment[256]; /* "" without one */
	bool keyless;	   /* not read: a kind of block without a key */
};

/*
 * Whether a line starts a block ("-----BEGIN", "---- BEGIN", or the first line
 * of a PuTTY key file), and whether it then ends it.
 */
bool pem_is_begin(struct kv_span line);
bool pem_is_end(struct kv_span line);

/*
 * Reads one block from its BEGIN line to its END line. False, with a reason
 * in why, when it holds no key that can be read: an encrypted private key
 * whose public half is encrypted too, say. key->keyless then tells whether
 * that is as it should be: EC PARAMETERS and the like.
 */
bool pem_read(struct kv_span block, struct pem_key *key, char *why, size_t cap);

/*
 * Whether data is a whole DER element of a form that may hold a key, or the
 * start of one. No text is.
 */
bool pem_looks_like_der(struct kv_span data);
/* The same as pem_read for it. */
bool pem_read_der(struct kv_span data, struct pem_key *key, char *why,
    size_t cap);

void pem_key_free(struct pem_key *key);

#endif
