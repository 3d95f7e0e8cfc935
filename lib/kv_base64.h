/* SPDX-License-Identifier: ISC */
/*
 * kv_base64: base64 as sshd reads it in keys (RFC 4648 section 4;
 * openbsd-compat/base64.c:b64_pton).
 */
#ifndef KV_BASE64_H
#define KV_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "kv_err.h"

/* An upper bound for the bytes that len characters decode to. */
#define KV_BASE64_DECODED_MAX(len) ((len) / 4 * 3 + 3)

/*
 * Decodes len characters of text into out, which holds cap bytes, and sets
 * *lenp to the number of bytes written. text and out may be the same memory.
 * Blanks, tabs and line ends (isspace in the C locale) are skipped anywhere.
 * Padding must be exact, and spare bits zero. The URL alphabet is refused.
 * Empty text decodes to nothing.
 * Errors (*lenp is 0): KV_ERR_BASE64; KV_ERR_NO_SPACE if the result does not
 * fit.
 */
KV_MUST_CHECK enum kv_err kv_base64_decode(const char *text, size_t len,
    uint8_t *out, size_t cap, size_t *lenp);

/*
 * Decodes whole groups of four digits. Stops before a group that holds anything
 * else, or does not fit in out. Returns the number of characters used; three
 * quarters as many bytes were written. kv_base64_decode reads the rest.
 */
size_t kv_base64_decode_groups(const uint8_t *text, size_t len, uint8_t *out,
    size_t cap);

/*
 * Encodes len bytes without padding, as in fingerprints, and ends the text with
 * a NUL. out holds at least (len * 4 + 2) / 3 + 1 characters.
 */
void kv_base64_encode_unpadded(const uint8_t *data, size_t len, char *out);

#endif
