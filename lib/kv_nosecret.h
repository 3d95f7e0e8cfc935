/* SPDX-License-Identifier: ISC */
/*
 * kv_nosecret: finds public keys that need no secret. Nobody leaked a private
 * half of these: anybody signs for them without one, or computes it from the
 * public half. To sshd they are keys as any other.
 *
 * This is a list without a file. So it answers also if no file can be read.
 */
#ifndef KV_NOSECRET_H
#define KV_NOSECRET_H

#include "kv_sshkey.h"

/* What logs and reports call the list. */
#define KV_NOSECRET_LIST "built-in"

/*
 * Returns the name of the class that key belongs to, or NULL if it belongs to
 * none. A name is static. The classes:
 * - rsa-exponent: the exponent is 0, 1 or even;
 * - rsa-factor: the modulus is even, or a prime below 1000 divides it;
 * - ed25519-order: the order of the point divides 8, in any encoding that sshd
 *   reads; of a composite key, the point of its Ed25519 half;
 * - ecdsa-generator: the point is one of G, 2G ... 8G, or a negative of these;
 * - dsa-group: y or g is 0, 1 or p - 1 modulo p.
 * A key that was made as the standards say is in none of them: the comments in
 * kv_nosecret.c say why.
 */
const char *kv_nosecret_source(const struct kv_pubkey *key);

#endif
