/* SPDX-License-Identifier: ISC */
#include "kv_bytes.h"

#include "testlib.h"

/* A reader of exactly these bytes. */
#define READER(...) \
	reader((const uint8_t[]){ __VA_ARGS__ }, \
	    sizeof((const uint8_t[]){ __VA_ARGS__ }))

static struct kv_bytes
reader(const uint8_t *p, size_t len)
{
	return (struct kv_bytes){ exact_copy(p, len), len };
}

/* A string of len bytes: first, then rest again and again. */
static struct kv_bytes
long_string(size_t len, uint8_t first, uint8_t rest)
{
	uint8_t *p = test_alloc(4 + len);

	p[2] = (uint8_t)(len >> 8);
	p[3] = (uint8_t)len;
	memset(p + 4, rest, len);
	p[4] = first;
	return reader(p, 4 + len);
}

/* get returns err and leaves the reader where it was. */
static void
refused(enum kv_err (*get)(struct kv_bytes *, struct kv_span *),
    struct kv_bytes b, enum kv_err err)
{
	struct kv_bytes before = b;
	struct kv_span s;

	assert_err(get(&b, &s), err);
	assert_ptr_equal(b.p, before.p);
	assert_int_equal(b.left, before.left);
}

TEST_CASE(spans_are_equal_byte_for_byte)
{
	struct kv_span none = { NULL, 0 };

	assert_true(kv_span_equal(span_of("abc"), span_of("abc")));
	assert_false(kv_span_equal(span_of("abc"), span_of("abd")));
	assert_false(kv_span_equal(span_of("abc"), span_of("abcd")));
	assert_false(kv_span_equal(span_of("a"), span_of("b")));
	assert_false(kv_span_equal(span_of("abc"), none));
	assert_true(kv_span_equal(none, none));
	assert_true(kv_span_equal(none, span_of("")));
}

TEST_CASE(span_is_compares_without_the_nul)
{
	const struct kv_span none = { NULL, 0 };
	const struct kv_span with_nul = { (const uint8_t *)"abc", 4 };

	assert_false(kv_span_is(span_of("a"), "b"));
	assert_true(kv_span_is(span_of("abc"), "abc"));
	assert_false(kv_span_is(with_nul, "abc"));
	assert_false(kv_span_is(span_of("ab"), "abc"));
	assert_false(kv_span_is(span_of("abcd"), "abc"));
	assert_false(kv_span_is(span_of("ABC"), "abc"));
	assert_true(kv_span_is(none, ""));
	assert_false(kv_span_is(none, "a"));
}

TEST_CASE(u32_is_big_endian)
{
	struct kv_bytes b = READER(0x81, 0x02, 0x03, 0x04, 0xff);
	uint32_t v;

	assert_ok(kv_bytes_get_u32(&b, &v));
	assert_int_equal(v, 0x81020304);
	assert_int_equal(b.left, 1);
	assert_int_equal(b.p[0], 0xff);
}

TEST_CASE(short_u32_is_refused)
{
	static const uint8_t p[3] = { 1, 2, 3 };
	struct kv_bytes none = { NULL, 0 };
	uint32_t v;

	for (size_t len = 0; len < 4; len++) {
		struct kv_bytes b = reader(p, len), before = b;

		assert_err(kv_bytes_get_u32(&b, &v), KV_ERR_TRUNCATED);
		assert_ptr_equal(b.p, before.p);
		assert_int_equal(b.left, before.left);
	}
	assert_err(kv_bytes_get_u32(&none, &v), KV_ERR_TRUNCATED);
}

TEST_CASE(skip_stops_at_the_end)
{
	struct kv_bytes b = READER(1, 2, 3), none = { NULL, 0 };

	assert_err(kv_bytes_skip(&b, 4), KV_ERR_TRUNCATED);
	assert_err(kv_bytes_skip(&b, SIZE_MAX), KV_ERR_TRUNCATED);
	assert_int_equal(b.left, 3);
	assert_ok(kv_bytes_skip(&b, 2));
	assert_int_equal(b.p[0], 3);
	assert_ok(kv_bytes_skip(&b, 1));
	assert_int_equal(b.left, 0);
	assert_ok(kv_bytes_skip(&b, 0));
	assert_err(kv_bytes_skip(&b, 1), KV_ERR_TRUNCATED);
	assert_ok(kv_bytes_skip(&none, 0));
}

TEST_CASE(strings_are_read_in_order)
{
	struct kv_bytes b = READER(0, 0, 0, 2, 'a', 'b', 0, 0, 0, 0, 9);
	struct kv_span s;

	assert_ok(kv_bytes_get_string(&b, &s));
	assert_span_is(s, "ab");
	assert_ok(kv_bytes_get_string(&b, &s));
	assert_int_equal(s.len, 0);
	assert_int_equal(b.left, 1);
	refused(kv_bytes_get_string, b, KV_ERR_TRUNCATED);
}

TEST_CASE(string_longer_than_the_rest_is_refused)
{
	refused(kv_bytes_get_string, READER(0, 0, 0, 2, 'a'), KV_ERR_TRUNCATED);
	refused(kv_bytes_get_string, READER(0, 0, 0, 1), KV_ERR_TRUNCATED);
	refused(kv_bytes_get_string, READER(0, 0, 0), KV_ERR_TRUNCATED);
	refused(kv_bytes_get_string, READER(0xff, 0xff, 0xff, 0xff, 1),
	    KV_ERR_TRUNCATED);
	refused(kv_bytes_get_string, READER(0x80, 0, 0, 1, 1),
	    KV_ERR_TRUNCATED);
}

TEST_CASE(one_nul_at_the_end_of_a_name_is_left_out)
{
	struct kv_bytes b = READER(0, 0, 0, 2, 'a', 0, 7);
	struct kv_bytes only = READER(0, 0, 0, 1, 0);
	struct kv_bytes empty = READER(0, 0, 0, 0);
	struct kv_span s;

	assert_ok(kv_bytes_get_name(&b, &s));
	assert_span_is(s, "a");
	assert_int_equal(b.left, 1);
	assert_ok(kv_bytes_get_name(&only, &s));
	assert_int_equal(s.len, 0);
	assert_ok(kv_bytes_get_name(&empty, &s));
	assert_int_equal(s.len, 0);
}

TEST_CASE(other_nuls_in_a_name_are_refused)
{
	refused(kv_bytes_get_name, READER(0, 0, 0, 3, 'a', 0, 0), KV_ERR_NAME);
	refused(kv_bytes_get_name, READER(0, 0, 0, 3, 'a', 0, 'b'),
	    KV_ERR_NAME);
	refused(kv_bytes_get_name, READER(0, 0, 0, 2, 0, 'b'), KV_ERR_NAME);
	refused(kv_bytes_get_name, READER(0, 0, 0, 2, 0, 0), KV_ERR_NAME);
	refused(kv_bytes_get_name, READER(0, 0, 0, 2, 'a'), KV_ERR_TRUNCATED);
}

TEST_CASE(leading_zeros_of_integers_are_stripped)
{
	struct kv_bytes padded = READER(0, 0, 0, 4, 0, 0, 0x80, 0, 5);
	struct kv_bytes zeros = READER(0, 0, 0, 3, 0, 0, 0);
	struct kv_bytes empty = READER(0, 0, 0, 0);
	struct kv_span n;

	assert_ok(kv_bytes_get_mpint(&padded, &n));
	assert_span(n, "\x80\x00", 2);
	assert_int_equal(padded.left, 1);
	assert_ok(kv_bytes_get_mpint(&zeros, &n));
	assert_int_equal(n.len, 0);
	assert_ok(kv_bytes_get_mpint(&empty, &n));
	assert_int_equal(n.len, 0);
}

TEST_CASE(negative_integers_are_refused)
{
	refused(kv_bytes_get_mpint, READER(0, 0, 0, 1, 0x80),
	    KV_ERR_INT_NEGATIVE);
	refused(kv_bytes_get_mpint, READER(0, 0, 0, 2, 0xff, 0x00),
	    KV_ERR_INT_NEGATIVE);
	refused(kv_bytes_get_mpint, long_string(2048, 0x80, 0),
	    KV_ERR_INT_NEGATIVE);
	refused(kv_bytes_get_mpint, READER(0, 0, 0, 2, 0), KV_ERR_TRUNCATED);
}

TEST_CASE(integers_have_at_most_16384_bits)
{
	struct kv_bytes plain = long_string(2048, 0x7f, 0xff);
	struct kv_bytes full = long_string(2049, 0, 0xff);
	struct kv_bytes zeros = long_string(2049, 0, 0);
	struct kv_span n;

	assert_ok(kv_bytes_get_mpint(&plain, &n));
	assert_int_equal(n.len, 2048);
	assert_ok(kv_bytes_get_mpint(&full, &n));
	assert_int_equal(n.len, 2048);
	assert_int_equal(n.p[0], 0xff);
	assert_ok(kv_bytes_get_mpint(&zeros, &n));
	assert_int_equal(n.len, 0);
	refused(kv_bytes_get_mpint, long_string(2049, 1, 0),
	    KV_ERR_INT_TOO_LARGE);
	refused(kv_bytes_get_mpint, long_string(2050, 0, 0),
	    KV_ERR_INT_TOO_LARGE);
	refused(kv_bytes_get_mpint, long_string(2050, 0, 1),
	    KV_ERR_INT_TOO_LARGE);
}
