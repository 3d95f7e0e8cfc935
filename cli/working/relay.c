/* SPDX-License-Identifier: ISC */
#include "working/relay.h"

#include <stdbool.h>
#include <string.h>

static void
print_escaped(FILE *out, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		fprintf(out, "\\x%02x", p[i]);
}

/* How many bytes a character has that starts so; 0: none starts so. */
static size_t
character_bytes(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

/* Whether the second byte may follow the first (RFC 3629 section 4). */
static bool
may_follow(uint8_t first, uint8_t second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second < 0xc0;
	case 0xed:
		return second >= 0x80 && second < 0xa0;
	case 0xf0:
		return second >= 0x90 && second < 0xc0;
	case 0xf4:
		return second >= 0x80 && second < 0x90;
	default:
		return second >= 0x80 && second < 0xc0;
	}
}

/* Whether the len bytes start a character, or are one. */
static bool
is_start(const uint8_t *p, size_t len)
{
	if (character_bytes(p[0]) < len)
		return false;
	for (size_t i = 1; i < len; i++)
		if (!(i == 1 ? may_follow(p[0], p[1]) : (p[i] & 0xc0) == 0x80))
			return false;
	return true;
}

/* C0 but for line ends and tabs, DEL, and C1 (U+0080 to U+009F). */
static bool
is_control(const uint8_t *p, size_t len)
{
	if (len == 1)
		return (p[0] < ' ' && strchr("\n\r\t", p[0]) == NULL) ||
		    p[0] == '\0' || p[0] == 0x7f;
	return len == 2 && p[0] == 0xc2 && p[1] < 0xa0;
}

static void
print_character(struct relay *r)
{
	if (is_control(r->part, r->part_len))
		print_escaped(r->out, r->part, r->part_len);
	else
		(void)fwrite(r->part, 1, r->part_len, r->out);
	r->part_len = 0;
}

static void
print_byte(struct relay *r, uint8_t byte)
{
	/* A carriage return only ends lines (RFC 4180): it hides nothing. */
	if (r->part_len == 1 && r->part[0] == '\r') {
		if (byte != '\n')
			print_escaped(r->out, r->part, 1);
		else
			putc('\r', r->out);
		r->part_len = 0;
	}
	r->part[r->part_len++] = byte;
	if (!is_start(r->part, r->part_len)) {
		print_escaped(r->out, r->part, r->part_len - 1);
		r->part[0] = byte;
		r->part_len = 1;
		if (character_bytes(byte) == 0) {
			print_escaped(r->out, &byte, 1);
			r->part_len = 0;
			return;
		}
	}
	if (byte != '\r' && r->part_len == character_bytes(r->part[0]))
		print_character(r);
}

/* How many bytes from p on are plain ASCII. */
static size_t
count_plain(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < len && (p[n] == '\n' || (p[n] >= ' ' && p[n] < 0x7f)))
		n++;
	return n;
}

void
relay_print(struct relay *r, const uint8_t *p, size_t len)
{
	size_t n;

	while (len > 0) {
		n = r->part_len == 0 ? count_plain(p, len) : 0;
		if (n > 0) {
			(void)fwrite(p, 1, n, r->out);
		} else {
			print_byte(r, *p);
			n = 1;
		}
		p += n;
		len -= n;
	}
}

void
relay_end(struct relay *r)
{
	print_escaped(r->out, r->part, r->part_len);
	r->part_len = 0;
}
