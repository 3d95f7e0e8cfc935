/* SPDX-License-Identifier: ISC */
#include "report/clean.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MORE "..."

/*
 * The first character of text, and its bytes in *lenp. A byte that begins no
 * valid one is returned with *lenp 0.
 */
static uint32_t
decode(const uint8_t *p, size_t len, size_t *lenp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const size_t n = p[0] < 0x80 ? 1 :
	    (p[0] & 0xe0) == 0xc0    ? 2 :
	    (p[0] & 0xf0) == 0xe0    ? 3 :
	    (p[0] & 0xf8) == 0xf0    ? 4 :
				       0;
	uint32_t c = n == 1 ? p[0] : n == 0 ? 0 : p[0] & (0x7fU >> n);

	*lenp = 0;
	if (n == 0 || n > len)
		return p[0];
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return p[0];
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return p[0];
	*lenp = n;
	return c;
}

/* Whether a character is a control, invisible, or changes the direction. */
static bool
is_harmful(uint32_t c)
{
	static const struct {
		uint32_t from, to;
	} ranges[] = {
		{ 0, 0x1f },
		{ 0x7f, 0x9f },
		{ 0xad, 0xad },
		{ 0x61c, 0x61c },
		{ 0x180e, 0x180e },
		{ 0x200b, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2060, 0x206f },
		{ 0xfeff, 0xfeff },
		{ 0xfff9, 0xffff },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

void
clean_text(const void *text, size_t len, char *out, size_t cap)
{
	const uint8_t *p = text;
	size_t at = 0, fits = 0;

	while (len > 0) {
		char piece[16];
		size_t n, used;
		const uint32_t c = decode(p, len, &used);

		if (used == 0 || (used == 1 && is_harmful(c)))
			n = (size_t)snprintf(piece, sizeof(piece), "\\x%02x",
			    (unsigned int)c);
		else if (is_harmful(c))
			n = (size_t)snprintf(piece, sizeof(piece), "\\u%04x",
			    (unsigned int)c);
		else
			memcpy(piece, p, n = used);
		if (at + n >= cap) {
			memcpy(out + fits, MORE, sizeof(MORE));
			return;
		}
		memcpy(out + at, piece, n);
		at += n;
		if (at + sizeof(MORE) <= cap)
			fits = at;
		used += used == 0;
		p += used;
		len -= used;
	}
	out[at] = '\0';
}
