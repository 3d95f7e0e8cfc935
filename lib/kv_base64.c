/* SPDX-License-Identifier: ISC */
#include "kv_base64.h"

#define BLANK 0x40
#define PAD 0x41
#define BAD 0xff

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each digit, 0 to 63. Other characters are BLANK, PAD or BAD. */
#define B BLANK
#define P PAD
#define X BAD
static const uint8_t values[256] = { X, X, X, X, X, X, X, X, X, B, B, B, B, B,
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, B, X, X, X, X, X,
	X, X, X, X, X, 62, X, X, X, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
	X, X, X, P, X, X, X, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, X, X, X, X, X, X, 26, 27,
	28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45,
	46, 47, 48, 49, 50, 51, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X,
	X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X, X };
#undef B
#undef P
#undef X

size_t
kv_base64_decode_groups(const uint8_t *text, size_t len, uint8_t *out,
    size_t cap)
{
	size_t groups = len / 4 < cap / 3 ? len / 4 : cap / 3;
	size_t i;

	for (i = 0; i < groups; i++, text += 4, out += 3) {
		uint32_t a = values[text[0]], b = values[text[1]];
		uint32_t c = values[text[2]], d = values[text[3]];
		uint32_t bits = a << 18 | b << 12 | c << 6 | d;

		if (((a | b | c | d) & ~63U) != 0)
			break;
		out[0] = (uint8_t)(bits >> 16);
		out[1] = (uint8_t)(bits >> 8);
		out[2] = (uint8_t)bits;
	}
	return i * 4;
}

enum kv_err
kv_base64_decode(const char *text, size_t len, uint8_t *out, size_t cap,
    size_t *lenp)
{
	const uint8_t *in = (const uint8_t *)text;
	uint32_t bits = 0;     /* the digits of a group, six bits each */
	unsigned int have = 0; /* how many digits */
	unsigned int pads = 0;
	size_t n = 0;

	*lenp = 0;
	for (size_t i = 0; i < len; i++) {
		uint8_t v;

		if (have == 0) {
			/* The code below reads what this stops at. */
			size_t used = kv_base64_decode_groups(in + i, len - i,
			    out + n, cap - n);

			i += used;
			n += used / 4 * 3;
			if (i == len)
				break;
		}
		v = values[in[i]];
		if (v == BLANK)
			continue;
		if (v == PAD) {
			/*
			 * Padding follows two or three characters. That it
			 * makes four of them is seen at the end.
			 */
			if (have < 2)
				return KV_ERR_BASE64;
			pads++;
			continue;
		}
		if (v == BAD || pads > 0)
			return KV_ERR_BASE64;
		bits = bits << 6 | v;
		if (++have < 4)
			continue;
		if (cap - n < 3)
			return KV_ERR_NO_SPACE;
		out[n++] = (uint8_t)(bits >> 16);
		out[n++] = (uint8_t)(bits >> 8);
		out[n++] = (uint8_t)bits;
		have = 0;
	}
	if (have == 0) {
		*lenp = n;
		return KV_OK;
	}
	if (have + pads != 4)
		return KV_ERR_BASE64;
	/* Two characters carry one byte, three carry two; the rest is spare. */
	bits <<= 6 * (4 - have);
	if ((bits & (have == 2 ? 0xffffU : 0xffU)) != 0)
		return KV_ERR_BASE64;
	if (cap - n < have - 1)
		return KV_ERR_NO_SPACE;
	out[n++] = (uint8_t)(bits >> 16);
	if (have == 3)
		out[n++] = (uint8_t)(bits >> 8);
	*lenp = n;
	return KV_OK;
}

void
kv_base64_encode_unpadded(const uint8_t *data, size_t len, char *out)
{
	uint32_t bits = 0;
	unsigned int have = 0;

	for (size_t i = 0; i < len; i++) {
		bits = bits << 8 | data[i];
		for (have += 8; have >= 6; have -= 6)
			*out++ = alphabet[bits >> (have - 6) & 63];
	}
	if (have > 0)
		*out++ = alphabet[bits << (6 - have) & 63];
	*out = '\0';
}
