/* SPDX-License-Identifier: ISC */
/*
 * kv_keytype: the names of SSH public key types, as OpenSSH 9.2 to 10.6 knows
 * them (sshkey.c: keyimpls[]).
 */
#ifndef KV_KEYTYPE_H
#define KV_KEYTYPE_H

#include <stdbool.h>

#include "kv_bytes.h"

enum kv_keytype {
	KV_KEY_NONE = 0,
	KV_KEY_RSA,
	KV_KEY_DSA,
	KV_KEY_ECDSA_P256,
	KV_KEY_ECDSA_P384,
	KV_KEY_ECDSA_P521,
	KV_KEY_ED25519,
	KV_KEY_ED448,
	KV_KEY_SK_ED25519,
	KV_KEY_SK_ECDSA_P256,
	KV_KEY_MLDSA44_ED25519,
	/*
	 * The same composite key under its name in OpenSSH 10.5. OpenSSH 10.6
	 * does not know this name. The name is part of the fingerprint.
	 */
	KV_KEY_MLDSA44_ED25519_OLD,
};

/* One name that a key type goes by. */
struct kv_keyname {
	const char *name;
	enum kv_keytype type;
	bool is_cert;
};

/*
 * Finds a type by its exact name, as it stands before the base64 and in sshd's
 * %t. Aliases such as rsa-sha2-256 are found too. Returns a static entry, or
 * NULL if no sshd knows the name.
 */
const struct kv_keyname *kv_keyname_find(struct kv_span name);

/*
 * Finds a type by its name inside a key blob. Also finds the short names of
 * plain keys in any case (RSA, ed25519, ...), which sshd 9.2 accepts. The short
 * name ECDSA does not say the curve: its entry has type KV_KEY_ECDSA_P256, and
 * *any_curvep is true.
 */
const struct kv_keyname *kv_keyname_find_in_blob(struct kv_span name,
    bool *any_curvep);

/* Holds any name of a type, and its NUL. */
#define KV_KEYTYPE_NAME_BYTES 64

/* The canonical name of a plain type ("ssh-rsa"); "" for KV_KEY_NONE. */
const char *kv_keytype_name(enum kv_keytype type);

/* The curve's name in the blob ("nistp256"), or NULL for a type without one. */
const char *kv_keytype_curve(enum kv_keytype type);

/* Bytes of an uncompressed point (RFC 5656 section 3.1); 0 without a curve. */
size_t kv_keytype_point_bytes(enum kv_keytype type);

#endif
