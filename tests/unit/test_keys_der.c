/* SPDX-License-Identifier: ISC */
#include "keys/der_element.h"

#include "testlib.h"

/* A SEQUENCE of len bytes, whose length is in n bytes; 0: in the tag's next. */
static size_t
make_element(uint8_t *p, size_t len, size_t n)
{
	uint8_t *start = p;

	*p++ = DER_SEQUENCE;
	*p++ = (uint8_t)(n > 0 ? 0x80 + n : len);
	for (size_t i = n; i > 0; i--)
		*p++ = (uint8_t)(len >> 8 * (i - 1));
	memset(p, 'x', len);
	return (size_t)(p - start) + len;
}

TEST_CASE(only_the_shortest_length_is_der)
{
	static const struct {
		size_t len, n;
	} elements[] = { { 0, 0 }, { 127, 0 }, { 128, 1 }, { 255, 1 },
		{ 256, 2 }, { 65535, 2 }, { 65536, 3 } };
	static uint8_t p[70000];

	for (size_t i = 0; i < COUNT(elements); i++) {
		for (size_t n = elements[i].n; n <= 4; n++) {
			size_t have = make_element(p, elements[i].len, n);
			struct kv_bytes b = { p, have }, content;
			struct kv_span data = { p, have }, lax;
			uint8_t tag;

			assert_true(der_get_element(&data, &tag, &lax));
			assert_int_equal(tag, DER_SEQUENCE);
			assert_int_equal(lax.len, elements[i].len);
			assert_int_equal(data.len, 0);
			assert_int_equal(der_take(&b, DER_SEQUENCE, &content),
			    n == elements[i].n);
			assert_int_equal(b.left, n == elements[i].n ? 0 : have);
		}
	}
}

TEST_CASE(an_element_that_is_not_whole_is_none)
{
	uint8_t p[300];
	size_t have = make_element(p, 200, 1);

	for (size_t n = 0; n < have; n++) {
		struct kv_bytes b = { exact_copy(p, n), n }, content;
		struct kv_span data = { b.p, n };
		uint8_t tag;
		size_t len;

		assert_int_equal(der_get_header(&data, &tag, &len),
		    n < 3 ? DER_SHORT : DER_WHOLE);
		assert_false(der_take(&b, DER_SEQUENCE, &content));
	}
}

TEST_CASE(the_indefinite_length_of_ber_is_told_apart)
{
	const uint8_t p[] = { DER_SEQUENCE, 0x80, 0, 0 };
	const uint8_t long_one[] = { DER_SEQUENCE, 0x85, 0, 0, 0, 0, 1, 'x' };
	struct kv_span data = { p, sizeof(p) }, content;
	uint8_t tag;
	size_t len;

	assert_int_equal(der_get_header(&data, &tag, &len), DER_WHOLE);
	assert_true(len == SIZE_MAX);
	data = (struct kv_span){ p, sizeof(p) };
	assert_false(der_get_element(&data, &tag, &content));
	data = (struct kv_span){ long_one, sizeof(long_one) };
	assert_int_equal(der_get_header(&data, &tag, &len), DER_BAD);
}
