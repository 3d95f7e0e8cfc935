/* SPDX-License-Identifier: ISC */
/*
 * source lib/kv_bytes.c
 * proof  fixed [quick] --unwind 2: buffers of any length
 * proof  name [quick] --unwind NAME+8: buffers of up to NAME + 6 bytes
 * proof  mpint --unwind NAME+8: buffers of up to NAME + 6 bytes, numbers of up to KV_MPINT_MAX_BYTES
 * proof  equal [quick] --unwind NAME+8: spans of up to NAME bytes
 * shrink lib/kv_bytes.h: KV_MPINT_MAX_BYTES 2048 -> KV_MPINT_MAX_BYTES 8
 */
#define NAME 12

#include "kv_bytes.h"

#include <string.h>

#include "libc.h"
#include "prove.h"

static struct kv_bytes before, b;
static struct kv_span s;

static void
any_reader(size_t max)
{
	before.left = any_size_up_to(max);
	before.p = any_bytes(max <= NAME + 6 ? max : before.left);
	b = before;
}

/* What every reading function promises. */
static void
prove_reader(enum kv_err r)
{
	if (r != KV_OK) {
		PROVE(b.p == before.p && b.left == before.left,
		    "an error leaves the reader where it was");
		return;
	}
	PROVE(b.left <= before.left, "never back");
	PROVE(b.p == before.p + (before.left - b.left),
	    "position and rest agree");
}

static uint32_t
big_endian(const uint8_t *p)
{
	return p[0] * 0x1000000U + p[1] * 0x10000U + p[2] * 0x100U + p[3];
}

static void
prove_string(enum kv_err r, size_t taken)
{
	prove_reader(r);
	if (r != KV_OK)
		return;
	PROVE(taken == big_endian(before.p), "the length on the wire");
	PROVE(before.left - b.left == 4 + taken, "the string and its length");
	PROVE(lies_in(s.p, s.len, before.p + 4, taken), "inside the string");
}

void
fixed(void)
{
	size_t len = nondet_size();
	uint32_t v;
	enum kv_err r;

	any_reader(SIZE_MAX / 4);
	r = kv_bytes_skip(&b, len);
	prove_reader(r);
	PROVE((r == KV_OK) == (len <= before.left), "skips what is there");
	PROVE(r != KV_OK || before.left - b.left == len, "skips len bytes");

	b = before;
	r = kv_bytes_get_u32(&b, &v);
	prove_reader(r);
	PROVE((r == KV_OK) == (before.left >= 4), "reads four bytes");
	PROVE(r != KV_OK ||
		(v == big_endian(before.p) && before.left - b.left == 4),
	    "reads a number");

	b = before;
	r = kv_bytes_get_string(&b, &s);
	prove_string(r, s.len);
	PROVE((r == KV_OK) ==
		(before.left >= 4 && before.left - 4 >= big_endian(before.p)),
	    "reads every string");
	PROVE(r == KV_OK || r == KV_ERR_TRUNCATED, "one error");
}

void
name(void)
{
	size_t at;
	enum kv_err r;

	any_reader(NAME + 6);
	r = kv_bytes_get_name(&b, &s);
	prove_string(r, before.left - b.left - 4);
	PROVE(r == KV_OK || r == KV_ERR_NAME || r == KV_ERR_TRUNCATED,
	    "two errors");
	PROVE(r != KV_ERR_NAME ||
		memchr(before.p + 4, '\0', big_endian(before.p) - 1) != NULL,
	    "refuses no name without a NUL");
	if (r != KV_OK)
		return;
	at = any_size_up_to(NAME);
	PROVE(at >= s.len || s.p[at] != '\0', "no NUL inside");
	at = before.left - b.left - 4;
	PROVE(s.len == at || (s.len + 1 == at && s.p[s.len] == '\0'),
	    "only a NUL at the end is left out");
}

void
mpint(void)
{
	size_t at, wire;
	enum kv_err r;

	any_reader(NAME + 6);
	r = kv_bytes_get_mpint(&b, &s);
	prove_string(r, before.left - b.left - 4);
	if (r != KV_OK)
		return;
	wire = before.left - b.left - 4;
	PROVE(wire == 0 || before.p[4] < 0x80, "not negative");
	PROVE(s.len <= KV_MPINT_MAX_BYTES, "not too long");
	PROVE(s.len == 0 || s.p[0] != 0, "no leading zero");
	PROVE(s.p + s.len == b.p, "ends with the string");
	at = any_size_up_to(KV_MPINT_MAX_BYTES);
	PROVE(at >= wire - s.len || before.p[4 + at] == 0, "only zeroes cut");
}

void
equal(void)
{
	struct kv_span x = { NULL, any_size_up_to(NAME) };
	struct kv_span y = { NULL, any_size_up_to(NAME) };
	size_t at = any_size_up_to(NAME);
	const char *text = any_text(NAME);
	bool same;

	x.p = x.len > 0 || nondet_bool() ? any_bytes(NAME) : NULL;
	y.p = y.len > 0 || nondet_bool() ? any_bytes(NAME) : NULL;
	same = kv_span_equal(x, y);
	PROVE(!same || x.len == y.len, "as long");
	PROVE(!same || at >= x.len || x.p[at] == y.p[at], "each byte");
	PROVE(kv_span_equal(x, x), "equals itself");
	same = kv_span_is(x, text);
	PROVE(!same || text[x.len] == '\0', "is as long");
	PROVE(!same || at >= x.len || x.p[at] == (text[at] & 0xff),
	    "is each byte");
	y = (struct kv_span){ (const uint8_t *)text, strlen(text) };
	PROVE(kv_span_is(y, text), "is itself");
	PROVE(same == kv_span_equal(x, y), "is and equal agree");
}
