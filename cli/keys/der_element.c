/* SPDX-License-Identifier: ISC */
#include "keys/der_element.h"

enum der_header
der_get_header(struct kv_span *data, uint8_t *tagp, size_t *lenp)
{
	size_t n = 0, len;

	if (data->len < 2)
		return DER_SHORT;
	len = data->p[1] == 0x80 ? SIZE_MAX : data->p[1];
	if (data->p[1] > 0x80) {
		n = data->p[1] - 0x80;
		if (n > 4)
			return DER_BAD;
		if (data->len - 2 < n)
			return DER_SHORT;
		len = 0;
		for (size_t i = 0; i < n; i++)
			len = len << 8 | data->p[2 + i];
	}
	*tagp = data->p[0];
	*lenp = len;
	data->p += 2 + n;
	data->len -= 2 + n;
	return DER_WHOLE;
}

size_t
der_header_bytes(size_t len)
{
	size_t n = 2;

	for (size_t rest = len; len >= 0x80 && rest > 0; rest >>= 8)
		n++;
	return n;
}

bool
der_get_element(struct kv_span *data, uint8_t *tagp, struct kv_span *contentp)
{
	size_t len;

	if (der_get_header(data, tagp, &len) != DER_WHOLE || len > data->len)
		return false;
	*contentp = (struct kv_span){ data->p, len };
	data->p += len;
	data->len -= len;
	return true;
}

bool
der_take(struct kv_bytes *b, uint8_t tag, struct kv_bytes *contentp)
{
	struct kv_span rest = { b->p, b->left }, content;
	uint8_t found;

	if (!der_get_element(&rest, &found, &content) || found != tag ||
	    (size_t)(content.p - b->p) != der_header_bytes(content.len))
		return false;
	*b = (struct kv_bytes){ rest.p, rest.len };
	*contentp = (struct kv_bytes){ content.p, content.len };
	return true;
}
