/* SPDX-License-Identifier: ISC */
#include "keys/shape.h"

#include "testkeys.h"

static uint8_t blob[KV_BLOB_MAX_BYTES];

static struct shape
read_shape(const char *text)
{
	struct shape s;

	memset(&s, 0xff, sizeof(s));
	shape_read(span_of(text), blob, &s);
	return s;
}

TEST_CASE(a_key_is_one_behind_options_hosts_and_markers)
{
	static const char *const before[] = { "", "  ", "restrict ",
		"from=\"a b\" ", "host,1.2.3.4 ", "@cert-authority *.x ",
		"@revoked * ", "|1|abc|def= " };

	for (size_t i = 0; i < COUNT(before); i++) {
		struct shape s = read_shape(format("%s%s", before[i], ec_line));

		assert_int_equal(s.is, SHAPE_KEY);
		assert_false(s.in_text);
	}
	assert_true(read_shape(format("- %s", ec_line)).in_text);
	assert_true(read_shape(format("key: %s", ec_line)).in_text);
	assert_true(read_shape(format("{x %s", ec_line)).in_text);
}

TEST_CASE(a_comment_may_hold_more_for_another_text)
{
	struct shape s;

	assert_int_equal(read_shape("").is, SHAPE_BLANK);
	assert_false(read_shape("# x").has_more);
	assert_true(read_shape("#define X \"ssh-rsa\"").has_more);
	shape_read((struct kv_span){ (const uint8_t *)"# \0x", 4 }, blob, &s);
	assert_int_equal(s.is, SHAPE_BLANK);
	assert_true(s.has_more);
}

TEST_CASE(what_is_no_key_is_told_apart)
{
	struct shape s;

	s = read_shape("the words of a text");
	assert_int_equal(s.is, SHAPE_OTHER);
	assert_true(s.keyless);
	assert_false(s.broken);
	s = read_shape(format("%.*s", (int)strlen(ec_line) - 30, ec_line));
	assert_int_equal(s.is, SHAPE_OTHER);
	assert_true(s.broken);
	assert_false(s.keyless);
	assert_int_equal(read_shape("sk-new@x AAAACHNrLW5ld0B4").is,
	    SHAPE_NEW_TYPE);
	s = read_shape(format("\xef\xbb\xbf%s", ec_line));
	assert_int_equal(s.is, SHAPE_MARKED);
	s = read_shape("@new host ssh-rsa");
	assert_int_equal(s.is, SHAPE_OTHER);
	assert_err(s.err, KV_ERR_LINE_MARKER);
	/* The word may be options, so a key behind it counts. */
	assert_int_equal(read_shape(format("@new %s", ec_line)).is, SHAPE_KEY);
}

TEST_CASE(openings_of_other_texts_are_recognised)
{
	static const char *const yes[] = { "{", "keys: [", "key: |  ", "---",
		"cat <<EOF >x", "<pre>", "-----BEGIN X-----" };
	static const char *const no[] = { "", "words", "ssh-rsa AAAA", "#" };

	for (size_t i = 0; i < COUNT(yes); i++)
		assert_true(shape_is_opening(span_of(yes[i])));
	for (size_t i = 0; i < COUNT(no); i++)
		assert_false(shape_is_opening(span_of(no[i])));
	assert_false(
	    shape_is_opening((struct kv_span){ (const uint8_t *)"x\0{", 3 }));
}
