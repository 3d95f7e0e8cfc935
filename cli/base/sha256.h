/* SPDX-License-Identifier: ISC */
/*
 * base/sha256: SHA-256 by OpenSSL, which uses the processor's instructions for
 * it, in a thread of its own. So two files are hashed while a third is written.
 */
#ifndef CLI_BASE_SHA256_H
#define CLI_BASE_SHA256_H

#include <openssl/evp.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DELTA_SHA256_BYTES 32

struct delta_sha {
	EVP_MD_CTX *ctx;
	bool threaded; /* the next five are in use */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool busy, over; /* there is a block to hash; there will be no more */
	const void *block;
	size_t len;
	bool failed;
};

/*
 * Begins a hash, with or without a thread; without one if there can be none.
 * These are false after a message. Always call delta_sha_free, also after a
 * failure.
 */
bool delta_sha_begin(struct delta_sha *s, bool threaded);
/*
 * Waits until the block before is hashed, and has this one hashed. It must not
 * change until the next call of delta_sha_add or delta_sha_end.
 */
bool delta_sha_add(struct delta_sha *s, const void *p, size_t len);
bool delta_sha_end(struct delta_sha *s,
    uint8_t digest[static DELTA_SHA256_BYTES]);
void delta_sha_free(struct delta_sha *s);

#endif
