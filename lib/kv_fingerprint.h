/* SPDX-License-Identifier: ISC */
/* kv_fingerprint: the SHA256:... form that ssh-keygen -l and sshd print. */
#ifndef KV_FINGERPRINT_H
#define KV_FINGERPRINT_H

#include "kv_sshkey.h"

#define KV_SHA256_BYTES 32
/* "SHA256:", 43 characters of base64, NUL */
#define KV_FINGERPRINT_BYTES (7 + 43 + 1)

/*
 * Computes the SHA-256 of a key's canonical blob, as in
 * sshkey.c:sshkey_fingerprint_raw. All encodings of a key have one digest, and
 * a certificate has the digest of its plain key. The blob starts with the name
 * of the type. So a composite key has another digest under its old name, as in
 * OpenSSH.
 */
void kv_fingerprint_digest(const struct kv_pubkey *key,
    uint8_t digest[static KV_SHA256_BYTES]);

/*
 * Other public keys have the same private half: the same RSA modulus with
 * another exponent, and a composite key under its other name. Returns how many
 * of them kv_fingerprint_kin knows, for RSA the exponents that programs choose.
 */
size_t kv_fingerprint_kin_count(const struct kv_pubkey *key);

/*
 * Computes the digest of one of them; index is below the count. It may be the
 * digest of key itself.
 */
void kv_fingerprint_kin(const struct kv_pubkey *key, size_t index,
    uint8_t digest[static KV_SHA256_BYTES]);

/* Passes on the bytes that are hashed for that digest, in pieces. */
typedef void (*kv_put_fn)(const void *p, size_t len, void *arg);
void kv_fingerprint_put(const struct kv_pubkey *key, kv_put_fn put, void *arg);

/* Computes the SHA-256 of any bytes: for a blob of an unknown type. */
void kv_fingerprint_digest_blob(const uint8_t *blob, size_t len,
    uint8_t digest[static KV_SHA256_BYTES]);

void kv_fingerprint_format(const uint8_t digest[static KV_SHA256_BYTES],
    char text[static KV_FINGERPRINT_BYTES]);

/* Reads "SHA256:" and 43 characters; KV_ERR_BASE64 for anything else. */
KV_MUST_CHECK enum kv_err kv_fingerprint_parse(struct kv_span text,
    uint8_t digest[static KV_SHA256_BYTES]);

#endif
