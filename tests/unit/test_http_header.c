/* SPDX-License-Identifier: ISC */
#include "net/http_header.h"

#include "testlib.h"

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

TEST_CASE(value_is_taken_without_blanks_around_it)
{
	header("ETag: \"abc\"\r\n", "\"abc\"");
	header("etag:\"abc\"\n", "\"abc\"");
	header("ETAG: \t W/\"a b\" \t\r\n", "W/\"a b\"");
	header("ETag:", "");
	header("ETag: \r\n", "");
}

TEST_CASE(other_headers_are_passed_over)
{
	header("ETags: \"abc\"\r\n", "before");
	header("X-ETag: \"abc\"\r\n", "before");
	header("ETag \"abc\"\r\n", "before");
	header("ETag", "before");
	header("ETa", "before");
	header("", "before");
	header("\r\n", "before");
}

TEST_CASE(value_that_could_not_be_sent_back_is_empty)
{
	char line[HTTP_VALUE_BYTES + 16];

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

TEST_CASE(safe_values_are_printable_and_short)
{
	char text[HTTP_VALUE_BYTES + 1];

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
keep_mutant(const uint8_t *p, size_t len, void *arg)
{
	(void)arg;
	keep_header((const char *)p, len);
	assert_true(http_value_is_safe(value));
}

TEST_CASE(mutants_of_a_header_are_survived)
{
	static const char line[] = "ETag: W/\"some value\"\r\n";

	for_each_mutant(line, sizeof(line) - 1, keep_mutant, NULL);
}
