/* SPDX-License-Identifier: ISC */
/* kv_fingerprint: the SHA256:... form that ssh-keygen -l and sshd print. */
#ifndef KV_FINGERPRINT_H
#define KV_FINGERPRINT_H

#include "kv_sshkey.h"

#define KV_SHA256_BYTES 32
/* "SHA256:", 43 characters of base64, NUL */
#define KV_FINGERPRINT_BYTES (7 + 43 + 1)

/*
 * The digest of a key's canonical blob (sshkey.c:sshkey_fingerprint_raw), so
 * that all encodings of a key have one fingerprint; a certificate's key has
 * that of the plain key. The blob starts with the type's name, so a composite
 * key has another fingerprint under its old name, for OpenSSH too.
 */
void kv_fingerprint_digest(const struct kv_pubkey *key,
    uint8_t digest[static KV_SHA256_BYTES]);

/* The digest of any bytes: a blob of a type that is not known here. */
void kv_fingerprint_digest_blob(const uint8_t *blob, size_t len,
    uint8_t digest[static KV_SHA256_BYTES]);

void kv_fingerprint_format(const uint8_t digest[static KV_SHA256_BYTES],
    char text[static KV_FINGERPRINT_BYTES]);

/* Reads "SHA256:" and 43 characters; KV_ERR_BASE64 for anything else. */
KV_MUST_CHECK enum kv_err kv_fingerprint_parse(struct kv_span text,
    uint8_t digest[static KV_SHA256_BYTES]);

#endif
