/* SPDX-License-Identifier: ISC */
#include "keys/utf16.h"

#include "testlib.h"

static uint8_t out[256];

/* Converts units in big endian, whole or in pieces. */
static size_t
convert(const char *units, size_t len, size_t piece, size_t cap)
{
	struct utf16 u = { .big = true };
	uint8_t *copy = exact_copy(units, len);
	struct kv_span in = { copy, 0 };
	size_t n = 0, end = 0, got, left;

	do {
		end = end + piece < len ? end + piece : len;
		in.len = end - (size_t)(in.p - copy);
		do {
			left = in.len;
			got = utf16_convert(&u, &in, end < len, false, out + n,
			    cap);
			n += got;
		} while (in.len < left);
	} while (end < len);
	return n;
}

static void
expect(const char *units, size_t len, const char *want)
{
	for (size_t piece = 1; piece <= len; piece++)
		assert_bytes(out, convert(units, len, piece, UTF16_ROOM), want,
		    strlen(want));
	assert_bytes(out, convert(units, len, len, sizeof(out)), want,
	    strlen(want));
}
#define EXPECT(units, want) expect(units, sizeof(units) - 1, want)

/* The wanted bytes are what Python's codec gives. */
TEST_CASE(letters_of_each_length_are_converted)
{
	EXPECT("\0a\0\xe9\x20\xac\xd8\x3d\xde\x00\0z",
	    "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
	EXPECT("\xfe\xff\0a\xfe\xff\0b",
	    "a\xef\xbb\xbf"
	    "b");
}

TEST_CASE(a_surrogate_alone_stays_one_letter)
{
	EXPECT("\xd8\x3d\0a",
	    "\xed\xa0\xbd"
	    "a");
	EXPECT("\xde\x00\xd8\x3d", "\xed\xb8\x80\xed\xa0\xbd");
}

TEST_CASE(half_a_unit_at_the_end_is_left)
{
	struct utf16 u = { .big = false };
	struct kv_span in = { (const uint8_t *)"a\0b", 3 };

	assert_int_equal(utf16_convert(&u, &in, false, false, out, sizeof(out)),
	    1);
	assert_int_equal(in.len, 1);
	assert_int_equal(out[0], 'a');
}

TEST_CASE(text_of_8_bits_is_noticed_and_a_drawn_line_is_not)
{
	struct utf16 u = { .big = false };
	struct kv_span in;
	uint8_t drawn[2 * 64];

	memset(drawn, 'U', sizeof(drawn));
	in = (struct kv_span){ drawn, sizeof(drawn) };
	(void)utf16_convert(&u, &in, false, true, out, sizeof(out));
	assert_int_equal(in.len, 0);
	assert_false(utf16_is_ascii(&u));
	in = span_of("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCww");
	(void)utf16_convert(&u, &in, false, true, out, sizeof(out));
	assert_true(in.len > 0);
	assert_true(utf16_is_ascii(&u));
}

TEST_CASE(the_start_tells_the_order_of_bytes)
{
	bool big = true;

	assert_true(utf16_is_start(
	    (struct kv_span){ (const uint8_t *)"s\0s\0h\0-\0", 8 }, &big));
	assert_false(big);
	assert_true(utf16_is_start(
	    (struct kv_span){ (const uint8_t *)"\0s\0s\0h\0-", 8 }, &big));
	assert_true(big);
	assert_false(utf16_is_start(span_of("ssh-ed25519"), &big));
	assert_false(
	    utf16_is_start((struct kv_span){ (const uint8_t *)"s\0s\0h\0-", 7 },
		&big));
	assert_false(utf16_is_start(
	    (struct kv_span){ (const uint8_t *)"s\0s\0h\0\1\0", 8 }, &big));
}
