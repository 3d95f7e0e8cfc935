/* SPDX-License-Identifier: ISC */
/*
 * kv_bytes: a bounded reader of SSH wire data (RFC 4251 section 5).
 * All offset arithmetic on untrusted bytes lives here.
 */
#ifndef KV_BYTES_H
#define KV_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_err.h"

/* Bytes that the span does not own. p may be NULL if len is 0. */
struct kv_span {
	const uint8_t *p;
	size_t len;
};

/* The bytes that are still to be read. To look ahead, read from a copy. */
struct kv_bytes {
	const uint8_t *p;
	size_t left;
};

/*
 * The longest integer that sshd reads (16384 bits), in bytes: without a leading
 * zero, and with the one that sshd accepts before the longest integer. See
 * sshbuf-getput-basic.c:sshbuf_get_bignum2_bytes_direct.
 */
#define KV_MPINT_MAX_BYTES 2048
#define KV_MPINT_MAX_WIRE_BYTES (KV_MPINT_MAX_BYTES + 1)

bool kv_span_equal(struct kv_span a, struct kv_span b);
/* Compares with a C string, without its NUL. */
bool kv_span_is(struct kv_span a, const char *s);

/*
 * Each function moves past what it read and returns KV_OK, or leaves the reader
 * where it was and returns an error: KV_ERR_TRUNCATED if there are not enough
 * bytes left. Spans point into the caller's data.
 */
KV_MUST_CHECK enum kv_err kv_bytes_get_u32(struct kv_bytes *b, uint32_t *valp);
KV_MUST_CHECK enum kv_err kv_bytes_skip(struct kv_bytes *b, size_t len);
KV_MUST_CHECK enum kv_err kv_bytes_get_string(struct kv_bytes *b,
    struct kv_span *sp);
/*
 * Reads a string that is a name. Like sshbuf_get_cstring, it accepts one NUL at
 * the end, and leaves that NUL out of the span. KV_ERR_NAME: there is a NUL
 * elsewhere.
 */
KV_MUST_CHECK enum kv_err kv_bytes_get_name(struct kv_bytes *b,
    struct kv_span *sp);
/*
 * Reads a non-negative mpint. The span has no leading zeros: 0 has length 0.
 * KV_ERR_INT_NEGATIVE; KV_ERR_INT_TOO_LARGE above KV_MPINT_MAX_BYTES.
 */
KV_MUST_CHECK enum kv_err kv_bytes_get_mpint(struct kv_bytes *b,
    struct kv_span *sp);

#endif
