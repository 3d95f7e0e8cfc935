/* SPDX-License-Identifier: ISC */
/* proof/key: the public keys that proofs of compromise are verified with. */
#ifndef CLI_PROOF_KEY_H
#define CLI_PROOF_KEY_H

#include <openssl/types.h>

#include "keys/pem.h"
#include "kv_fingerprint.h"

#define PROOF_WHY_BYTES 256

/* The SHA-256 of an SPKI in lower-case hexadecimal, and a NUL. */
#define PROOF_ID_BYTES (2 * KV_SHA256_BYTES + 1)

/* A key, freed by proof_key_free. */
struct proof_key {
	struct pem_key pem; /* pem.ssh.key is never KV_KEY_NONE */
	EVP_PKEY *pkey;	    /* the public half */
	/* Of its SPKI; of an EC key, also of the one with compressed point. */
	char id[2][PROOF_ID_BYTES];
	size_t n_ids;
};

/*
 * Reads an SPKI in DER. False with a reason in why if it is none, or of a key
 * whose proofs mean nothing:
 * - RSA below PROOF_RSA_BITS_MIN;
 * - DSA, and elliptic curves with parameters of their own: the parameters can
 *   be chosen so that anybody can sign for a given public number;
 * - types that no form of proof has an algorithm for, as composite keys.
 *
 * It takes little time. The proof of an RSA key with the exponent 1, or with a
 * modulus that is prime or has a small factor, means nothing, either: such a
 * modulus can be the number of another key, which an exact list would then
 * list, and be factored. To find that takes long: proof_work_judge in work.h
 * does it once the signature is verified.
 */
bool proof_key_read(struct kv_span spki, struct proof_key *key,
    char why[static PROOF_WHY_BYTES]);

void proof_key_free(struct proof_key *key);

void proof_id_format(const uint8_t digest[static KV_SHA256_BYTES],
    char id[static PROOF_ID_BYTES]);

/* Whether id is of an SPKI of the key. */
bool proof_key_has_id(const struct proof_key *key, const char *id);

#define PROOF_RSA_BITS_MIN 1024

/* Writes a reason into why. Always false. */
bool proof_refuse(char why[static PROOF_WHY_BYTES], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
