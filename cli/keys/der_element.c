/* SPDX-License-Identifier: ISC */
/* Reads elements of DER in their only form. */
#include "keys/der_element.h"

bool
der_length(const uint8_t *p, size_t have, size_t *header_lenp, size_t *lenp)
{
	size_t n, len = 0;

	if (have < 2)
		return false;
	*header_lenp = 2;
	*lenp = p[1];
	if (p[1] < 0x80)
		return true;
	n = p[1] & 0x7f;
	if (n < 1 || n > DER_HEADER_BYTES - 2 || n > have - 2 || p[2] == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		len = len << 8 | p[2 + i];
	*header_lenp = 2 + n;
	*lenp = len;
	return len >= 0x80;
}

bool
der_take(struct kv_bytes *b, uint8_t tag, struct kv_bytes *contentp)
{
	size_t header, len;

	if (b->left == 0 || b->p[0] != tag ||
	    !der_length(b->p, b->left, &header, &len) ||
	    kv_bytes_skip(b, header) != KV_OK)
		return false;
	*contentp = (struct kv_bytes){ b->p, len };
	return kv_bytes_skip(b, len) == KV_OK;
}
