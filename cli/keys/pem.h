/* SPDX-License-Identifier: ISC */
/*
 * keys/pem: reads a key from the forms that OpenSSL, OpenSSH and PuTTY read:
 * PEM and DER public keys (SPKI, PKCS#1), X.509 certificates and requests,
 * private key files, RFC 4716. Never asks for a passphrase. Thread-safe.
 */
#ifndef CLI_KEYS_PEM_H
#define CLI_KEYS_PEM_H

#include "kv_blocklist.h"
#include "kv_sshkey.h"

/* The longest block that is read. Real keys need a few KiB. */
#define PEM_MAX_BYTES (1024 * 1024)

/* A key with its own memory, freed by pem_key_free. */
struct pem_key {
	struct kv_sshkey ssh; /* ssh.key.type KV_KEY_NONE: no SSH form */
	uint8_t *blob;	      /* what ssh points into */
	uint8_t *spki;	      /* DER, when there is no SSH form */
	size_t spki_len;
	/* What exact lists have of it, when there is no SSH form. */
	bool has_hash;
	struct kv_blocklist_hash hash;
	/* If there is no SSH form, one word: "EC-secp256k1", "X25519". */
	char type[KV_KEYTYPE_NAME_BYTES];
	unsigned int bits;
	char comment[256]; /* "" without one */
};

/*
 * pem_is_begin: whether a line starts a block ("-----BEGIN", "---- BEGIN", or
 * the first line of a PuTTY key file). pem_is_end: whether it ends one.
 */
bool pem_is_begin(struct kv_span line);
bool pem_is_end(struct kv_span line);

/*
 * Whether line, the first of a block, says that the block holds no key that
 * keyveto reads, such as PGP's, SSH SIGNATURE, PKCS7 or EC PARAMETERS.
 */
bool pem_is_keyless(struct kv_span line);

/* So many digits of base64 in a row are no words. */
#define PEM_RUN_BYTES 40

/* Whether a block may hold a key: else it is named, as in a manual. */
bool pem_has_base64(struct kv_span text);

/* A block inside a line. */
struct pem_place {
	struct kv_span begin; /* "-----BEGIN ...-----" */
	struct kv_span body;
	struct kv_span end;
};

/* Finds the first block that is whole, and not of a kind without keys. */
bool pem_find(struct kv_span text, struct pem_place *place);

/*
 * Reads one block, from its BEGIN line to its END line. False with a reason in
 * why (cap bytes) if it holds no key that can be read, such as a private key
 * whose public half is encrypted too; *key needs no pem_key_free then.
 */
bool pem_read(struct kv_span block, struct pem_key *key, char *why, size_t cap);

/*
 * Whether data is, or may be the start of, a DER element of a form that may
 * hold a key. False for all text.
 */
bool pem_looks_like_der(struct kv_span data);
/* As pem_read, for such an element. */
bool pem_read_der(struct kv_span data, struct pem_key *key, char *why,
    size_t cap);

/*
 * Whether such an element is certainly meant to be a key, although pem_read_der
 * may not read it: it names the algorithm of a key, or of an encrypted one.
 */
bool pem_der_names_key(struct kv_span data);

void pem_key_free(struct pem_key *key);

#endif
