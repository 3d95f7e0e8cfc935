/* SPDX-License-Identifier: ISC */
#include "net/http_header.h"

#include "testlib.h"

#include <string.h>

static char value[HTTP_VALUE_BYTES];

static void
keep_header(const char *line, size_t len)
{
	char *copy = (char *)exact_copy(line, len);

	strcpy(value, "before");
	http_header_keep(copy, len, "ETag", value);
	assert_non_null(memchr(value, '\0', sizeof(value)));
}

static void
header(const char *line, const char *want)
{
	keep_header(line, strlen(line));
	assert_string_equal(value, want);
}

static void
value_is_taken_without_blanks_around_it(void **state)
{
	(void)state;
	header("ETag: \"abc\"\r\n", "\"abc\"");
	header("etag:\"abc\"\n", "\"abc\"");
	header("ETAG: \t W/\"a b\" \t\r\n", "W/\"a b\"");
	header("ETag:", "");
	header("ETag: \r\n", "");
}

static void
other_headers_are_passed_over(void **state)
{
	(void)state;
	header("ETags: \"abc\"\r\n", "before");
	header("X-ETag: \"abc\"\r\n", "before");
	header("ETag \"abc\"\r\n", "before");
	header("ETag", "before");
	header("ETa", "before");
	header("", "before");
	header("\r\n", "before");
}

static void
value_that_could_not_be_sent_back_is_empty(void **state)
{
	char line[HTTP_VALUE_BYTES + 16];

	(void)state;
	header("ETag: \"a\tb\"\r\n", "");
	header("ETag: \"a\x7f\"\r\n", "");
	header("ETag: \"\xc3\xa4\"\r\n", "");
	header("ETag: \"a\rX: y\"\r\n", "");
	keep_header("ETag: a\0b\r\n", 11);
	assert_string_equal(value, "");
	for (size_t len = HTTP_VALUE_BYTES - 2; len <= HTTP_VALUE_BYTES;
	     len++) {
		memcpy(line, "ETag:", 5);
		memset(line + 5, 'x', len);
		keep_header(line, 5 + len);
		assert_int_equal(strlen(value),
		    len < HTTP_VALUE_BYTES ? len : 0);
	}
}

static void
safe_values_are_printable_and_short(void **state)
{
	char text[HTTP_VALUE_BYTES + 1];

	(void)state;
	assert_true(http_value_is_safe(""));
	assert_true(http_value_is_safe("W/\"a b~\""));
	assert_false(http_value_is_safe("a\r\nX: y"));
	assert_false(http_value_is_safe("\t"));
	assert_false(http_value_is_safe("\x80"));
	memset(text, 'x', sizeof(text));
	text[HTTP_VALUE_BYTES - 1] = '\0';
	assert_true(http_value_is_safe(text));
	text[HTTP_VALUE_BYTES - 1] = 'x';
	text[HTTP_VALUE_BYTES] = '\0';
	assert_false(http_value_is_safe(text));
}

static void
only_strong_etags_are_strong(void **state)
{
	(void)state;
	assert_true(http_etag_is_strong("\"\""));
	assert_true(http_etag_is_strong("\"abc\""));
	assert_false(http_etag_is_strong("W/\"abc\""));
	assert_false(http_etag_is_strong("w/\"abc\""));
	assert_false(http_etag_is_strong("abc"));
	assert_false(http_etag_is_strong("\"abc"));
	assert_false(http_etag_is_strong("\""));
	assert_false(http_etag_is_strong(""));
}

static void
range_begins_where_it_says(void **state)
{
	static const char *const bad[] = { "", "bytes", "bytes ", "bytes -5/9",
		"bytes */9", "bytes 5", "bytes 5/9", "bytes  5-8/9",
		"bytes +5-8/9", "bytes -5-8/9", "bits 5-8/9", "5-8/9",
		"bytes 99999999999999999999-8/9" };

	(void)state;
	assert_int_equal(http_range_start("bytes 0-8/9"), 0);
	assert_int_equal(http_range_start("bytes 5-8/9"), 5);
	assert_int_equal(http_range_start("Bytes 5-8/*"), 5);
	assert_int_equal(http_range_start("bytes 8589934592-8589934593/*"),
	    8589934592);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(http_range_start(bad[i]), -1);
}

static void
keep_mutant(const uint8_t *p, size_t len, void *arg)
{
	(void)arg;
	keep_header((const char *)p, len);
	assert_true(http_value_is_safe(value));
}

static void
mutants_of_a_header_are_survived(void **state)
{
	static const char line[] = "ETag: W/\"some value\"\r\n";

	(void)state;
	for_each_mutant(line, sizeof(line) - 1, keep_mutant, NULL);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(value_is_taken_without_blanks_around_it),
		TEST(other_headers_are_passed_over),
		TEST(value_that_could_not_be_sent_back_is_empty),
		TEST(safe_values_are_printable_and_short),
		TEST(only_strong_etags_are_strong),
		TEST(range_begins_where_it_says),
		TEST(mutants_of_a_header_are_survived),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
