/* SPDX-License-Identifier: ISC */
/*
 * proof/attestation: proofs of compromise as a PKCS#10 certificate request
 * (draft-mpalmer-key-compromise-attestation-00). Its subject says that the key
 * is compromised, its one attribute asks for the critical extension
 * NoSecurityAfforded (RFC 7169) TRUE, and the key signed it. All but the key
 * and the signature are fixed bytes: so nobody can hide a collision in it, and
 * no request for another purpose is taken for a proof.
 */
#ifndef CLI_PROOF_ATTESTATION_H
#define CLI_PROOF_ATTESTATION_H

#include "proof/work.h"

/* The longest proof, of an RSA key of 16384 bits, has 5 KiB. */
#define ATTESTATION_MAX_BYTES (16 * 1024)

/*
 * Whether der is a proof by the key in it, which becomes *key: for
 * proof_key_free. False with a reason; nothing to free then. work is the run's:
 * work.h says what false means if work->over is set. Signatures are
 * RSA's (PKCS#1 v1.5) and ECDSA's with SHA-1, SHA-256, SHA-384 or SHA-512,
 * Ed25519's and Ed448's.
 */
bool attestation_verify(struct kv_span der, struct proof_work *work,
    struct proof_key *key, char why[static PROOF_WHY_BYTES]);

#endif
