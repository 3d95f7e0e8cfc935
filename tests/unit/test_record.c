/* SPDX-License-Identifier: ISC */
#include "base/record.h"

#include "testlib.h"

/* The bytes of a record of tag 7 with this number alone. */
#define RECORD(...) ((const uint8_t[]){ 0, 0, 0, 9, 7, __VA_ARGS__ })
#define RECORD_BYTES 13

static struct record_out out;

static void
assert_written(const uint8_t *want)
{
	assert_bytes(out.buf, out.len, want, RECORD_BYTES);
	record_clear(&out);
}

TEST_CASE(a_number_is_written_big_endian_whatever_its_width)
{
	bool flag = true;
	uint8_t byte = 0xfe;
	uint32_t half = 0x01020304;
	uint64_t whole = UINT64_C(0x0102030405060708);

	out = (struct record_out){ .fd = -1 };
	record_send(&out, 7, R_FLAG(flag));
	assert_written(RECORD(0, 0, 0, 0, 0, 0, 0, 1));
	record_send(&out, 7, R_NUMBER(byte, UINT8_MAX));
	assert_written(RECORD(0, 0, 0, 0, 0, 0, 0, 0xfe));
	record_send(&out, 7, R_NUMBER(half, UINT32_MAX));
	assert_written(RECORD(0, 0, 0, 0, 1, 2, 3, 4));
	record_send(&out, 7, R_ANY(whole));
	assert_written(RECORD(1, 2, 3, 4, 5, 6, 7, 8));
	record_out_free(&out);
}

TEST_CASE(a_number_is_read_that_its_field_has_room_for)
{
	struct kv_bytes b = { RECORD(0, 0, 0, 0, 0, 0, 0, 0xfe) + 5, 8 };
	struct kv_bytes c = { RECORD(0, 0, 0, 0, 1, 2, 3, 4) + 5, 8 };
	struct kv_bytes d = { RECORD(1, 2, 3, 4, 5, 6, 7, 8) + 5, 8 };
	uint8_t byte = 0;
	uint32_t half = 0;
	uint64_t whole = 0;

	assert_true(record_get_all(&b, R_ANY(byte)));
	assert_int_equal(byte, 0xfe);
	assert_true(record_get_all(&c, R_ANY(half)));
	assert_int_equal(half, 0x01020304);
	assert_true(record_get_all(&d, R_ANY(whole)));
	assert_int_equal(whole, UINT64_C(0x0102030405060708));
}

/* As a size_t of 32 bits would get of one of 64. */
TEST_CASE(a_number_is_refused_that_its_field_has_no_room_for)
{
	struct kv_bytes b = { RECORD(0, 0, 0, 0, 0, 0, 1, 0) + 5, 8 };
	struct kv_bytes c = { RECORD(0, 0, 0, 1, 0, 0, 0, 5) + 5, 8 };
	uint8_t byte = 1;
	uint32_t half = 1;

	assert_false(record_get_all(&b, R_ANY(byte)));
	assert_false(record_get_all(&c, R_ANY(half)));
	assert_int_equal(byte, 1);
	assert_int_equal(half, 1);
}
