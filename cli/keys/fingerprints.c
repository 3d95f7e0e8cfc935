/* SPDX-License-Identifier: ISC */
#include "keys/fingerprints.h"

#include <string.h>

#define PREFIX "SHA256:"
#define PREFIX_BYTES (sizeof(PREFIX) - 1)

bool
fingerprints_has_digit(uint8_t c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";

	return memchr(digits, c, sizeof(digits) - 1) != NULL;
}

enum fingerprints
fingerprints_find(struct kv_span text, fingerprints_fn f, void *arg)
{
	enum fingerprints found = FINGERPRINTS_NONE;
	uint8_t digest[KV_SHA256_BYTES];
	const uint8_t *p;

	while (text.len > 0 &&
	    (p = memmem(text.p, text.len, PREFIX, PREFIX_BYTES)) != NULL) {
		struct kv_span one = { p, PREFIX_BYTES };

		text.len -= (size_t)(p - text.p);
		while (one.len < text.len && fingerprints_has_digit(p[one.len]))
			one.len++;
		text.p = p + one.len;
		text.len -= one.len;
		if (kv_fingerprint_parse(one, digest) != KV_OK)
			return FINGERPRINTS_BAD;
		f(digest, arg);
		found = FINGERPRINTS_FOUND;
	}
	return found;
}
