/* SPDX-License-Identifier: ISC */
#include "testlib.h"

#include <ctype.h>

TEST_CASE(every_error_has_a_text_of_its_own)
{
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

TEST_CASE(texts_are_no_sentences)
{
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

TEST_CASE(success_is_zero)
{
	assert_int_equal(KV_OK, 0);
}
