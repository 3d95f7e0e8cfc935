/* SPDX-License-Identifier: ISC */
/*
 * base/sha256: SHA-256 by OpenSSL, which uses the processor's instructions for
 * it.
 */
#ifndef CLI_BASE_SHA256_H
#define CLI_BASE_SHA256_H

#include <openssl/evp.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
	EVP_MD_CTX *ctx;
};

/* These are false after a message. Always call sha256_free, even then. */
bool sha256_begin(struct sha256 *s);
bool sha256_add(struct sha256 *s, const void *p, size_t len);
bool sha256_end(struct sha256 *s, uint8_t digest[static SHA256_BYTES]);
void sha256_free(struct sha256 *s);

#endif
