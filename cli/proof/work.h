/* SPDX-License-Identifier: ISC */
/*
 * proof/work: how much work the proofs of one run may cost. A proof comes from
 * anybody, and may be packed a thousand times smaller than it is read.
 *
 * With an RSA key of n bits and an exponent of e bits, to verify a signature
 * takes n * n * e steps, and to test the modulus n * n * n. Both are free for
 * keys of at most PROOF_USUAL_BITS bits with an exponent of at most
 * PROOF_USUAL_E_BITS bits. The work for all others together is bounded. So is
 * the number of proofs that turn out bad: they can differ in a byte, and cost
 * nothing to make. A good one costs a signature to make, and is verified once.
 */
#ifndef CLI_PROOF_WORK_H
#define CLI_PROOF_WORK_H

#include "proof/key.h"

#define PROOF_USUAL_BITS 4096
#define PROOF_USUAL_E_BITS 64

/* The most that is spent on other keys: the moduli of so many of that size. */
#define PROOF_WORK_KEYS 16
#define PROOF_WORK_KEY_BITS 16384
/* The same in units of 1024 * 1024 * 1024. */
#define PROOF_WORK_MAX \
	(PROOF_WORK_KEYS * (PROOF_WORK_KEY_BITS / 1024) * \
	    (PROOF_WORK_KEY_BITS / 1024) * (PROOF_WORK_KEY_BITS / 1024))

/* How many proofs may turn out bad after their signature was looked at. */
#define PROOF_BAD_MAX 1000

/* Of one run. It starts as zeros; proof_work_free frees what it holds. */
struct proof_work {
	uint64_t spent;	  /* of PROOF_WORK_MAX */
	unsigned int bad; /* proofs */
	bool over;	  /* the last proof was not judged: none was left */
	void *known;	  /* verdicts, for tsearch(3) */
};

void proof_work_free(struct proof_work *work);

/*
 * Verifies the signature of one form of proof with a key. False with a reason
 * in why.
 */
typedef bool (*proof_signature_fn)(const void *proof,
    const struct proof_key *key, char why[static PROOF_WHY_BYTES]);

/*
 * Whether the key signed the proof, and its proofs mean something (key.h says
 * which do not). digest identifies the proof, with its signature. False with a
 * reason in why; if no work was left, work->over is set.
 */
bool proof_work_judge(struct proof_work *work,
    const uint8_t digest[static KV_SHA256_BYTES], const struct proof_key *key,
    proof_signature_fn is_signed, const void *proof,
    char why[static PROOF_WHY_BYTES]);

/*
 * Begins a proof. False with a reason, and work->over, if too many were bad.
 */
bool proof_work_begin(struct proof_work *work,
    char why[static PROOF_WHY_BYTES]);

/* Counts a proof that turned out bad before proof_work_judge. */
void proof_work_count_bad(struct proof_work *work);

#endif
