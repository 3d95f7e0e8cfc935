/* SPDX-License-Identifier: ISC */
#include "kv_base64.h"

#include <stdbool.h>

#define BLANK 0x40
#define PAD 0x41
#define BAD 0xff

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of one character (0 to 63), or BLANK, PAD or BAD. */
static uint8_t
classify(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	switch (c) {
	case '+':
		return 62;
	case '/':
		return 63;
	case '=':
		return PAD;
	case ' ':
	case '\t':
	case '\n':
	case '\v':
	case '\f':
	case '\r':
		return BLANK;
	default:
		return BAD;
	}
}

enum kv_err
kv_base64_decode(const char *text, size_t len, uint8_t *out, size_t cap,
    size_t *lenp)
{
	uint32_t bits = 0;	/* the last characters, six bits each */
	unsigned int have = 0;	/* characters of the current group of four */
	unsigned int pads = 0;
	size_t n = 0;

	*lenp = 0;
	for (size_t i = 0; i < len; i++) {
		uint8_t v = classify((unsigned char)text[i]);

		if (v == BLANK)
			continue;
		if (v == PAD) {
			/* Only after two or three characters of a group. */
			if (have < 2 || have + ++pads > 4)
				return KV_ERR_BASE64;
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
