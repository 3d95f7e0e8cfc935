/* SPDX-License-Identifier: ISC */
/* keys/fingerprints: finds SHA256 fingerprints in a text. */
#ifndef CLI_KEYS_FINGERPRINTS_H
#define CLI_KEYS_FINGERPRINTS_H

#include <stdbool.h>

#include "kv_fingerprint.h"

/* The digits of base64. */
bool fingerprints_has_digit(uint8_t c);

typedef void (
    *fingerprints_fn)(const uint8_t digest[static KV_SHA256_BYTES], void *arg);

enum fingerprints {
	FINGERPRINTS_NONE,
	FINGERPRINTS_FOUND,
	FINGERPRINTS_BAD, /* one is not whole; those before it were given */
};

/* Passes each fingerprint in the text to f: "SHA256:" and its base64. */
enum fingerprints fingerprints_find(struct kv_span text, fingerprints_fn f,
    void *arg);

#endif
