/* SPDX-License-Identifier: ISC */
/*
 * keys/store: recognises key stores, PKCS #12 (RFC 7292) and Java's. keyveto
 * does not read the keys in them, which are encrypted. It tells whether a store
 * holds certificates only, as the trust store of Java does.
 */
#ifndef CLI_KEYS_STORE_H
#define CLI_KEYS_STORE_H

#include "kv_bytes.h"

/* "Java key store" or the like, by the first bytes; NULL for other data. */
const char *store_name(struct kv_span start);

/*
 * Whether data, which has a store_name, is a whole store in which nothing but
 * certificates is. False if that cannot be told without its passphrase.
 */
bool store_is_keyless(struct kv_span data);

#endif
