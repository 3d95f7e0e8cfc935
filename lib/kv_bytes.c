/* SPDX-License-Identifier: ISC */
#include "kv_bytes.h"

#include <string.h>

bool
kv_span_equal(struct kv_span a, struct kv_span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

bool
kv_span_is(struct kv_span a, const char *s)
{
	return a.len == strlen(s) && (a.len == 0 || memcmp(a.p, s, a.len) == 0);
}

enum kv_err
kv_bytes_skip(struct kv_bytes *b, size_t len)
{
	if (len > b->left)
		return KV_ERR_TRUNCATED;
	if (len > 0) {
		b->p += len;
		b->left -= len;
	}
	return KV_OK;
}

enum kv_err
kv_bytes_get_u32(struct kv_bytes *b, uint32_t *valp)
{
	const uint8_t *p = b->p;

	if (b->left < 4)
		return KV_ERR_TRUNCATED;
	*valp = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
	return kv_bytes_skip(b, 4);
}

enum kv_err
kv_bytes_get_string(struct kv_bytes *b, struct kv_span *sp)
{
	struct kv_bytes ahead = *b;
	uint32_t len;
	enum kv_err r;

	if ((r = kv_bytes_get_u32(&ahead, &len)) != KV_OK)
		return r;
	sp->p = ahead.p;
	sp->len = len;
	if ((r = kv_bytes_skip(&ahead, len)) != KV_OK)
		return r;
	*b = ahead;
	return KV_OK;
}

enum kv_err
kv_bytes_get_name(struct kv_bytes *b, struct kv_span *sp)
{
	struct kv_bytes ahead = *b;
	struct kv_span s;
	enum kv_err r;

	if ((r = kv_bytes_get_string(&ahead, &s)) != KV_OK)
		return r;
	if (s.len > 0 && s.p[s.len - 1] == '\0')
		s.len--;
	if (s.len > 0 && memchr(s.p, '\0', s.len) != NULL)
		return KV_ERR_NAME;
	*sp = s;
	*b = ahead;
	return KV_OK;
}

enum kv_err
kv_bytes_get_mpint(struct kv_bytes *b, struct kv_span *sp)
{
	struct kv_bytes ahead = *b;
	struct kv_span s;
	enum kv_err r;

	if ((r = kv_bytes_get_string(&ahead, &s)) != KV_OK)
		return r;
	if (s.len > 0 && (s.p[0] & 0x80) != 0)
		return KV_ERR_INT_NEGATIVE;
	if (s.len > KV_MPINT_MAX_WIRE_BYTES ||
	    (s.len == KV_MPINT_MAX_WIRE_BYTES && s.p[0] != 0))
		return KV_ERR_INT_TOO_LARGE;
	while (s.len > 0 && s.p[0] == 0) {
		s.p++;
		s.len--;
	}
	*sp = s;
	*b = ahead;
	return KV_OK;
}
