/* SPDX-License-Identifier: ISC */
/*
 * UTF-16 that is converted in pieces gives the same UTF-8 as at once, and from
 * that the units can be made again. The first bytes say the order of the bytes
 * of a unit, and the size of the pieces.
 */
#include <string.h>

#include "fuzz.h"
#include "keys/utf16.h"

#define HEAD_BYTES 2
#define TEXT_MAX (64 * 1024)
#define OUT_MAX (3 * TEXT_MAX)

static size_t
convert(bool big, struct kv_span text, size_t piece, uint8_t *out)
{
	struct utf16 u = { .big = big };
	struct kv_span in = { text.p, 0 };
	const uint8_t *end = text.p + text.len;
	size_t n = 0, left;

	do {
		piece = piece < (size_t)(end - in.p) - in.len ?
		    piece :
		    (size_t)(end - in.p) - in.len;
		in.len += piece;
		do {
			left = in.len;
			FUZZ_CHECK(OUT_MAX + UTF16_ROOM - n >= UTF16_ROOM);
			n += utf16_convert(&u, &in, in.p + in.len < end, false,
			    out + n, n == 0 ? OUT_MAX : UTF16_ROOM);
			FUZZ_CHECK(n <= OUT_MAX);
		} while (in.len < left);
	} while (in.p + in.len < end);
	FUZZ_CHECK(in.len < 2);
	return n;
}

/* The unit or pair that a letter of UTF-8 stands for, in big endian. */
static size_t
units_of(const uint8_t *p, size_t *usedp, uint8_t unit[static 4])
{
	uint32_t c = p[0];

	*usedp = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (*usedp > 1)
		c &= 0xffu >> (*usedp + 1);
	for (size_t i = 1; i < *usedp; i++) {
		FUZZ_CHECK((p[i] & 0xc0) == 0x80);
		c = c << 6 | (p[i] & 0x3f);
	}
	if (*usedp == 4) {
		c -= 0x10000;
		unit[2] = (uint8_t)(0xdc | (c >> 8 & 3));
		unit[3] = (uint8_t)c;
		c = 0xd800 + (c >> 10);
	}
	unit[0] = (uint8_t)(c >> 8);
	unit[1] = (uint8_t)c;
	return *usedp == 4 ? 4 : 2;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole[OUT_MAX + 64], parts[OUT_MAX + 64];
	struct kv_span text = { data + HEAD_BYTES, size - HEAD_BYTES };
	size_t len, at = 0, used, n;
	uint8_t unit[4];
	bool big;

	if (size < HEAD_BYTES || size - HEAD_BYTES > TEXT_MAX)
		return 0;
	big = (data[0] & 1) != 0;
	len = convert(big, text, text.len, whole);
	FUZZ_CHECK(convert(big, text, 1 + data[1], parts) == len);
	FUZZ_CHECK(len == 0 || memcmp(whole, parts, len) == 0);
	/* A byte order mark at the start is left out. */
	if (text.len >= 2 && text.p[!big] == 0xfe && text.p[big] == 0xff)
		at = 2;
	for (size_t i = 0; i < len; i += used, at += n) {
		n = units_of(whole + i, &used, unit);
		FUZZ_CHECK(at + n <= text.len);
		for (size_t k = 0; k < n; k++)
			FUZZ_CHECK(text.p[at + (big ? k : k ^ 1)] == unit[k]);
	}
	FUZZ_CHECK(text.len - at < 2);
	return 0;
}
