/* SPDX-License-Identifier: ISC */
/*
 * kv_spki: public key -> DER SubjectPublicKeyInfo (RFC 5280 section 4.1),
 * byte for byte what OpenSSL writes: RFC 3279 sections 2.3.1 and 2.3.2 for RSA
 * and DSA, RFC 5480 for ECDSA, RFC 8410 for Ed25519 and Ed448, RFC 9881 and
 * draft-ietf-lamps-pq-composite-sigs for ML-DSA-44 and its composite.
 */
#ifndef KV_SPKI_H
#define KV_SPKI_H

#include "kv_sshkey.h"

/* The longest: DSA, four integers of KV_MPINT_MAX_WIRE_BYTES and headers. */
#define KV_SPKI_MAX_BYTES (4 * KV_MPINT_MAX_WIRE_BYTES + 64)

/*
 * How many SPKIs a key has: 1, or 3 for the composite type (itself, then its
 * ML-DSA-44 and its Ed25519 half); 0 for KV_KEY_NONE. A key is listed when any
 * of them is.
 */
size_t kv_spki_count(const struct kv_pubkey *key);

/*
 * Writes SPKI number index (from 0) of key to out and its length to *lenp.
 * A buffer of KV_SPKI_MAX_BYTES always suffices; KV_ERR_NO_SPACE otherwise.
 */
KV_MUST_CHECK enum kv_err kv_spki_encode(const struct kv_pubkey *key,
    size_t index, uint8_t *out, size_t cap, size_t *lenp);

/*
 * The SPKI of an elliptic curve key with its point compressed (SEC 1 section
 * 2.3.3), which publishers of filters add too. KV_ERR_NO_POINT for other keys.
 */
KV_MUST_CHECK enum kv_err kv_spki_encode_compressed(const struct kv_pubkey *key,
    uint8_t *out, size_t cap, size_t *lenp);

#endif
