/* SPDX-License-Identifier: ISC */
#include "keys/utf16.h"

#include <string.h>

/* Without a byte order mark: so many letters of ASCII at the start. */
#define START_LETTERS 4
/*
 * So many units in a row whose bytes are both ASCII are no UTF-16: a key is
 * longer. A unit that repeats the one before does not count: it may be a line
 * that is drawn with U+2550.
 */
#define ASCII_MAX 24

static bool
is_text_byte(uint8_t c)
{
	return (c >= ' ' && c <= '~') || c == '\t' || c == '\r' || c == '\n';
}

bool
utf16_is_start(struct kv_span data, bool *bigp)
{
	if (data.len < (size_t)2 * START_LETTERS)
		return false;
	*bigp = data.p[0] == 0;
	for (size_t i = 0; i < START_LETTERS; i++) {
		if (!is_text_byte(data.p[2 * i + *bigp]) ||
		    data.p[2 * i + !*bigp] != 0)
			return false;
	}
	return true;
}

bool
utf16_is_ascii(const struct utf16 *u)
{
	return u->ascii >= ASCII_MAX;
}

static uint32_t
unit_at(const struct utf16 *u, const uint8_t *p)
{
	return (uint32_t)(p[!u->big] << 8 | p[u->big]);
}

/* Counts the units whose bytes are ASCII. */
static void
count_ascii(struct utf16 *u, const uint8_t *p)
{
	if (!is_text_byte(p[0]) || !is_text_byte(p[1]))
		u->ascii = 0;
	else if (memcmp(u->last, p, sizeof(u->last)) != 0)
		u->ascii++;
	memcpy(u->last, p, sizeof(u->last));
}

static size_t
put_utf8(uint32_t c, uint8_t *p)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const uint8_t first[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = n; i-- > 1; c >>= 6)
		p[i] = (uint8_t)(0x80 | (c & 0x3f));
	p[0] = (uint8_t)(first[n] | c);
	return n;
}

size_t
utf16_convert(struct utf16 *u, struct kv_span *in, bool more, bool stop,
    uint8_t *out, size_t cap)
{
	size_t len = 0;

	while (cap - len >= UTF16_ROOM && in->len >= (more ? 4 : 2) &&
	    !(stop && utf16_is_ascii(u))) {
		uint32_t c = unit_at(u, in->p), low;
		size_t used = 2;

		count_ascii(u, in->p);
		if (c >= 0xd800 && c < 0xdc00 && in->len >= 4) {
			low = unit_at(u, in->p + 2);
			count_ascii(u, in->p + 2);
			if (low >= 0xdc00 && low < 0xe000) {
				c = 0x10000 + ((c - 0xd800) << 10) +
				    (low - 0xdc00);
				used = 4;
			}
		}
		in->p += used;
		in->len -= used;
		if (c != 0xfeff || u->started)
			len += put_utf8(c, out + len);
		u->started = true;
	}
	return len;
}
