/* SPDX-License-Identifier: ISC */
/*
 * proof/jws: proofs of compromise in the form of pwnedkeys.com. A proof is a
 * JSON Web Signature (RFC 7515) in flattened JSON:
 *
 *   { "protected": BASE64URL({"alg": ALG, "kid": ID}),
 *     "payload": BASE64URL(text with "key is pwned", at most 1024 bytes),
 *     "signature": BASE64URL(by the private key) }
 *
 * and no other member. ALG is RS256 for RSA, and ES256, ES384 or ES512 for
 * P-256, P-384 or P-521. ID is the SHA-256 of the SPKI in lower-case
 * hexadecimal; of an EC key, with its point uncompressed or compressed.
 */
#ifndef CLI_PROOF_JWS_H
#define CLI_PROOF_JWS_H

#include "base/record.h"
#include "proof/work.h"

/* The longest text of a proof. The longest one of a real key has 5 KiB. */
#define JWS_MAX_BYTES (16 * 1024)

/*
 * Whether text is a proof by the key with this SPKI (DER): of the algorithm
 * that belongs to the key and no other, with its ID, and signed by it. False
 * with a reason in why. Only blanks and line ends may follow the JSON.
 */
bool jws_verify(struct kv_span text, struct kv_span spki,
    char why[static PROOF_WHY_BYTES]);

/* What keyveto-worker says of a file that may be a proof. */
enum answer_kind {
	ANSWER_UNREAD = 0, /* nothing is known: why is about the worker */
	ANSWER_OTHER,	   /* no proof of this key: why says what is wrong */
	ANSWER_PAGE,	   /* of HTML or XML */
	ANSWER_PROOF,
};
struct answer {
	enum answer_kind kind;
	char why[PROOF_WHY_BYTES];
};
/* In a record, on both sides. */
#define ANSWER_FIELDS(a) \
	R_RANGE((a)->kind, ANSWER_OTHER, ANSWER_PROOF), R_TEXT((a)->why)

/* The same in two steps. */

/* The algorithms: a row in jws.c for each. */
struct jws_algorithm;

/* A proof whose signature was not verified yet. Freed by jws_free. */
struct jws {
	const struct jws_algorithm *algorithm;
	char id[PROOF_ID_BYTES]; /* of the key that it names */
	char *input;		 /* what is signed */
	size_t input_len;
	uint8_t *signature;
	size_t signature_len;
};

/* Reads all but the signature. False with a reason; nothing to free then. */
bool jws_read(struct kv_span text, struct jws *jws,
    char why[static PROOF_WHY_BYTES]);
/*
 * Whether the key is the one that the proof names, and signed it. work is the
 * run's: work.h says what false means if work->over is set.
 */
bool jws_is_signed_by(const struct jws *jws, const struct proof_key *key,
    struct proof_work *work, char why[static PROOF_WHY_BYTES]);
void jws_free(struct jws *jws);

#endif
