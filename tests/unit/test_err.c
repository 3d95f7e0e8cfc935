/* SPDX-License-Identifier: ISC */
#include "testlib.h"

#include <ctype.h>
#include <string.h>

static void
every_error_has_a_text_of_its_own(void **state)
{
	(void)state;
	for (int i = KV_OK; i <= KV_ERR_CONFIG; i++) {
		const char *text = kv_strerror((enum kv_err)i);

		assert_string_not_equal(text, "unknown error");
		for (int j = KV_OK; j < i; j++)
			assert_string_not_equal(text,
			    kv_strerror((enum kv_err)j));
	}
	assert_string_equal(kv_strerror((enum kv_err)(KV_ERR_CONFIG + 1)),
	    "unknown error");
}

static void
texts_are_no_sentences(void **state)
{
	(void)state;
	for (int i = KV_OK; i <= KV_ERR_CONFIG; i++) {
		const char *text = kv_strerror((enum kv_err)i);
		const char *end = text + strlen(text) - 1;

		assert_true(end > text);
		assert_int_not_equal(*end, '.');
		/* Names keep their capitals: "RSA modulus", "NUL byte". */
		assert_false(isupper(text[0]) && islower(text[1]));
		for (; *text != '\0'; text++)
			assert_true(isprint(*text));
	}
}

static void
success_is_zero(void **state)
{
	(void)state;
	assert_int_equal(KV_OK, 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_error_has_a_text_of_its_own),
		TEST(texts_are_no_sentences),
		TEST(success_is_zero),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
