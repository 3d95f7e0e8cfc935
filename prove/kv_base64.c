/* SPDX-License-Identifier: ISC */
/*
 * Decoding in whole groups is a function of its own: proof groups. Proof decode takes
 * any answer of it that proof groups allows.
 *
 * source lib/kv_base64.c
 * proof  decode --no-conversion-check --replace kv_base64_decode_groups:any_groups --unwind TEXT+2: any text of up to TEXT characters, any room
 * proof  strict --no-conversion-check --unwind FEW+4 --unwindset kv_base64_decode_groups.0:FEW/4+1: what decodes, of up to FEW characters, is what encoding gives, but for blanks
 * proof  inverse --no-conversion-check --unwind DATA*4/3+4 --unwindset kv_base64_decode_groups.0:DATA/3+1: any DATA bytes or fewer, encoded, padded and decoded
 * proof  in_place --no-conversion-check --unwind PLACE+2 --unwindset kv_base64_decode_groups.0:PLACE/4+1: any text of up to PLACE characters, decoded to where it stands
 * proof  groups [quick] --no-conversion-check --unwind TEXT+2: any text of up to TEXT characters, any room
 */
#define TEXT 12
#define FEW 8
#define PLACE 6
#define DATA 9
#define PADDED 20

#include "kv_base64.h"

#include <string.h>

#include "prove.h"

static size_t text_len, cap, len;
static char *text;
static uint8_t *out;

static void
any_input(void)
{
	text_len = any_size_up_to(TEXT);
	text = (char *)any_end(TEXT, text_len);
	cap = any_size_up_to(TEXT);
	out = any_end(TEXT, cap);
}

/* As proof groups shows it. What it writes to out is not read again. */
size_t
any_groups(const uint8_t *in, size_t in_len, uint8_t *to, size_t room)
{
	size_t groups = any_size_up_to(TEXT / 4);

	PROVE(__CPROVER_r_ok(in, in_len), "the rest of the text");
	PROVE(__CPROVER_w_ok(to, room), "the rest of the room");
	GIVEN(groups * 4 <= in_len && groups * 3 <= room);
	return groups * 4;
}

void
decode(void)
{
	enum kv_err r;

	any_input();
	r = kv_base64_decode(text, text_len, out, cap, &len);
	PROVE(r == KV_OK || r == KV_ERR_BASE64 || r == KV_ERR_NO_SPACE,
	    "the errors of the header");
	PROVE(r == KV_OK || len == 0, "an error gives nothing");
	PROVE(len <= cap, "inside out");
	PROVE(len <= KV_BASE64_DECODED_MAX(text_len), "the upper bound");
	PROVE(r != KV_ERR_NO_SPACE || cap < KV_BASE64_DECODED_MAX(text_len),
	    "the upper bound suffices");
}

/* Fixed memory, which costs CBMC less; proof decode shows the bounds. */
static char fixed_text[FEW];
static uint8_t fixed_out[FEW];

static void
any_fixed_text(void)
{
	text_len = any_size_up_to(FEW);
	text = fixed_text;
	out = fixed_out;
	for (size_t i = 0; i < FEW; i++)
		fixed_text[i] = nondet_char();
}

/* Encodes with padding, by the unit's own encoder. */
static size_t
encode(const uint8_t *data, size_t n, char padded[static PADDED])
{
	size_t at;

	kv_base64_encode_unpadded(data, n, padded);
	at = strlen(padded);
	PROVE(at == (n * 4 + 2) / 3, "as long as the header says");
	while (at % 4 != 0)
		padded[at++] = '=';
	return at;
}

void
strict(void)
{
	static char padded[PADDED];
	size_t n, at = 0;

	any_fixed_text();
	if (kv_base64_decode(text, text_len, out, FEW, &len) != KV_OK)
		return;
	n = encode(out, len, padded);
	for (size_t i = 0; i < text_len; i++) {
		char c = text[i];

		if (c == ' ' || (c >= '\t' && c <= '\r'))
			continue;
		PROVE(at < n && padded[at] == c, "one text for these bytes");
		at++;
	}
	PROVE(at == n, "all of the text");
}

void
inverse(void)
{
	static char padded[PADDED];
	static uint8_t data[DATA], again[DATA];
	size_t n = any_size_up_to(DATA), at = any_size_up_to(DATA);
	enum kv_err r;

	for (size_t i = 0; i < DATA; i++)
		data[i] = nondet_byte();
	r = kv_base64_decode(padded, encode(data, n, padded), again, n, &len);
	PROVE(r == KV_OK && len == n, "decodes, in just enough room");
	PROVE(at >= n || again[at] == data[at], "to the same bytes");
}

void
groups(void)
{
	size_t used;

	any_input();
	used = kv_base64_decode_groups((uint8_t *)text, text_len, out, cap);
	PROVE(used % 4 == 0 && used <= text_len, "whole groups of the text");
	PROVE(used / 4 * 3 <= cap, "inside out");
}

/* text and out may be the same memory. */
void
in_place(void)
{
	static uint8_t apart[PLACE], same[PLACE];
	static char copy[PLACE];
	size_t n = any_size_up_to(PLACE), room = any_size_up_to(PLACE);
	size_t i = any_size_up_to(PLACE - 1), other;
	enum kv_err r;

	for (size_t k = 0; k < PLACE; k++) {
		copy[k] = nondet_char();
		same[k] = (uint8_t)copy[k];
	}
	r = kv_base64_decode(copy, n, apart, room, &len);
	PROVE(kv_base64_decode((const char *)same, n, same, room, &other) == r,
	    "the same answer");
	PROVE(other == len, "as much");
	PROVE(i >= len || same[i] == apart[i], "the same bytes");
}
