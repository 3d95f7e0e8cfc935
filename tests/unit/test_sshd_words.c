/* SPDX-License-Identifier: ISC */
#include "sshd_config/words.h"

#include "testlib.h"

/* Each was tested with sshd 9.2. */
TEST_CASE(test_keywords_are_found_where_sshd_finds_them)
{
	static const struct {
		const char *line, *keyword, *rest;
	} lines[] = {
		{ "Match User a\n", "Match", "User a" },
		{ "\t Match\tUser a \r\n", "Match", "User a" },
		{ "Include=/a b\f\n", "Include", "/a b" },
		{ "Include = /a", "Include", "/a" },
		{ "Include = = /a", "Include", "= /a" },
		{ "=Include /a", "Include", "/a" },
		{ " = Include /a", "Include", "/a" },
		{ "\"Include\"/a", "Include", "/a" },
		{ "\"Include\" /a", "Include", "/a" },
		{ "Inc\"lude\" /a", "Include", "/a" },
		{ "\"\" Include /a", "Include", "/a" },
		{ "Include", "Include", "" },
		{ "Include \"/a b\"", "Include", "\"/a b\"" },
		{ "", NULL, "" },
		{ " \t\r\n", NULL, "" },
		{ "# Include /a", NULL, "" },
		{ "  #a", NULL, "" },
		{ "\"Include /a", NULL, "" },
		{ "== Include /a", NULL, "" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *line = strdup(lines[i].line), *rest;
		const char *keyword;

		assert_non_null(line);
		keyword = sshd_words_keyword(line, &rest);
		if (lines[i].keyword == NULL)
			assert_null(keyword);
		else {
			assert_non_null(keyword);
			assert_string_equal(keyword, lines[i].keyword);
			assert_string_equal(rest, lines[i].rest);
		}
		free(line);
	}
}

TEST_CASE(test_arguments_are_cut_as_sshd_cuts_them)
{
	char text[] = "a\\ b 'c d'\"e\" \\\"f \"\" g#h # i";
	static const char *const words[] = { "a b", "c de", "\"f", "", "g#h" };
	char *rest = text;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *word = sshd_words_next(&rest);

		assert_non_null(word);
		assert_string_equal(word, words[i]);
	}
	assert_null(sshd_words_next(&rest));
}

TEST_CASE(test_none_is_a_word_by_itself)
{
	static const char *const none[] = { "", "none", "NONE", "\"none\"",
		"none # of them", "n'on'e ", "none NONE" };
	static const char *const some[] = { "none .ssh/a", "nones",
		"\"none .ssh/a\"", ".ssh/none", "# none", ".ssh/a none" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_true(sshd_words_none(none[i]));
	for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
		assert_false(sshd_words_none(some[i]));
}
