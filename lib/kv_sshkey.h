/* SPDX-License-Identifier: ISC */
/*
 * kv_sshkey: SSH public key and certificate blobs (RFC 4253 section 6.6,
 * RFC 5656 section 3.1, RFC 8709 section 4; OpenSSH PROTOCOL.certkeys and
 * PROTOCOL.u2f; sshkey.c:sshkey_from_blob_internal and cert_parse).
 */
#ifndef KV_SSHKEY_H
#define KV_SSHKEY_H

#include "kv_keytype.h"

/* The most fields that a key has: DSA's p, q, g, y. */
#define KV_PUBKEY_FIELDS 4

#define KV_ED25519_BYTES 32
#define KV_ED448_BYTES 57
#define KV_MLDSA44_BYTES 1312

/*
 * A public key without certificate: spans into the blob it was read from, which
 * must outlive it. Fields, in order:
 * - RSA: e n; DSA: p q g y (integers, big endian, without leading zeros);
 * - ECDSA: the uncompressed point; Ed25519, Ed448: the key;
 * - MLDSA44_ED25519: the ML-DSA-44 key, the Ed25519 key.
 * A security key has the fields of the plain key, and an application.
 */
struct kv_pubkey {
	enum kv_keytype type;
	struct kv_span field[KV_PUBKEY_FIELDS];
	struct kv_span application;
};

/* What a blob holds: a key, and the CA's key if it is a certificate. */
struct kv_sshkey {
	struct kv_pubkey key;
	struct kv_pubkey ca; /* type KV_KEY_NONE unless is_cert */
	bool is_cert;
};

/*
 * Reads a blob of len bytes. On success the whole blob was read. After an
 * error, key still holds each key that was read whole, so that the caller can
 * refuse a compromised key inside a malformed blob; the type of the others is
 * KV_KEY_NONE.
 *
 * Not checked, because only sshd's own libcrypto can: that a point is on its
 * curve, and that a certificate's signature is good. RSA keys that are too
 * small for sshd are read, so that they can be looked up.
 */
KV_MUST_CHECK enum kv_err kv_sshkey_parse(const uint8_t *blob, size_t len,
    struct kv_sshkey *key);

/*
 * Whether both are the same key to an sshd, whatever their encoding. A
 * composite key is not the same under its old and its new name: no sshd knows
 * both names. KV_KEY_NONE equals nothing.
 */
bool kv_pubkey_equal(const struct kv_pubkey *a, const struct kv_pubkey *b);

/* The size of a key in bits, as ssh-keygen -l prints it. */
unsigned int kv_pubkey_bits(const struct kv_pubkey *key);

#endif
