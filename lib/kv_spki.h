/* SPDX-License-Identifier: ISC */
/*
 * kv_spki: converts a public key to a DER SubjectPublicKeyInfo (RFC 5280
 * section 4.1), byte for byte as OpenSSL does: RFC 3279 sections 2.3.1 and
 * 2.3.2 for RSA and DSA, RFC 5480 for ECDSA, RFC 8410 for Ed25519 and Ed448,
 * RFC 9881 and draft-ietf-lamps-pq-composite-sigs for ML-DSA-44 and its
 * composite.
 */
#ifndef KV_SPKI_H
#define KV_SPKI_H

#include "kv_sshkey.h"

/*
 * The longest is DSA's: four integers of KV_MPINT_MAX_WIRE_BYTES and headers.
 */
#define KV_SPKI_MAX_BYTES (4 * KV_MPINT_MAX_WIRE_BYTES + 64)

/*
 * How many SPKIs a key has: 0 for KV_KEY_NONE, 3 for the composite type (its
 * own, then those of its ML-DSA-44 and its Ed25519 half), else 1. A key is
 * listed if any of its SPKIs is.
 */
size_t kv_spki_count(const struct kv_pubkey *key);

/*
 * Writes SPKI number index (from 0) of key to out, which holds cap bytes, and
 * its length to *lenp. Errors (*lenp is 0): KV_ERR_NO_SPACE, never with
 * KV_SPKI_MAX_BYTES; KV_ERR_INTERNAL if key has no such SPKI.
 */
KV_MUST_CHECK enum kv_err kv_spki_encode(const struct kv_pubkey *key,
    size_t index, uint8_t *out, size_t cap, size_t *lenp);

/*
 * Does the same for an elliptic curve key with its point compressed (SEC 1
 * section 2.3.3): publishers add this form to filters too. KV_ERR_NO_POINT for
 * other keys.
 */
KV_MUST_CHECK enum kv_err kv_spki_encode_compressed(const struct kv_pubkey *key,
    uint8_t *out, size_t cap, size_t *lenp);

#endif
