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

/* Bytes that belong to somebody else; p may be NULL when len is 0. */
struct kv_span {
	const uint8_t *p;
	size_t len;
};

/* What is still to be read; copy it to look ahead. */
struct kv_bytes {
	const uint8_t *p;
	size_t left;
};

/*
 * The longest integer sshd reads, in bytes without leading zeros (16384 bits),
 * and with them: see sshbuf-getput-basic.c:sshbuf_get_bignum2_bytes_direct.
 */
#define KV_MPINT_MAX_BYTES 2048
#define KV_MPINT_MAX_WIRE_BYTES (KV_MPINT_MAX_BYTES + 1)

bool kv_span_equal(struct kv_span a, struct kv_span b);
/* Compares with a C string, without its NUL. */
bool kv_span_is(struct kv_span a, const char *s);

/*
 * Each getter moves past what it read and returns KV_OK, or leaves the reader
 * where it was and returns an error: KV_ERR_TRUNCATED when there are not
 * enough bytes left. Spans point into the caller's data.
 */
KV_MUST_CHECK enum kv_err kv_bytes_get_u32(struct kv_bytes *b, uint32_t *valp);
KV_MUST_CHECK enum kv_err kv_bytes_skip(struct kv_bytes *b, size_t len);
KV_MUST_CHECK enum kv_err kv_bytes_get_string(struct kv_bytes *b,
    struct kv_span *sp);
/*
 * A string that is a name: like sshbuf_get_cstring, one NUL at its end is
 * tolerated and left out of the span; KV_ERR_NAME for a NUL anywhere else.
 */
KV_MUST_CHECK enum kv_err kv_bytes_get_name(struct kv_bytes *b,
    struct kv_span *sp);
/*
 * A non-negative mpint, leading zeros stripped (so 0 has length 0).
 * KV_ERR_INT_NEGATIVE, KV_ERR_INT_TOO_LARGE.
 */
KV_MUST_CHECK enum kv_err kv_bytes_get_mpint(struct kv_bytes *b,
    struct kv_span *sp);

#endif
