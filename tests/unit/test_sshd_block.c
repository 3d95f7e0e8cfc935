/* SPDX-License-Identifier: ISC */
#include "sshd_config/block.h"

#include "testlib.h"

#define LINES "AuthorizedKeysFile none\n"

static char *
remove_all(const char *text, size_t len, size_t *out_lenp, size_t *np)
{
	char why[256];

	return sshd_block_remove(text, len, out_lenp, np, why, sizeof(why));
}

/* Any bytes, with and without line ends, NULs and carriage returns. */
TEST_CASE(test_removal_undoes_insertion)
{
	static const char bytes[] = { '\n', '\r', '#', ' ', 'a', '\0' };
	char text[64];

	srandom(1);
	for (int i = 0; i < 20000; i++) {
		size_t len = (size_t)random() % sizeof(text), lines = 0;
		size_t out_len, back_len, n;
		char *out, *again, *back;

		for (size_t k = 0; k < len; k++) {
			text[k] = bytes[(size_t)random() % sizeof(bytes)];
			lines += text[k] == '\n';
		}
		out = sshd_block_insert(text, len,
		    1 + (size_t)random() % (lines + 1), LINES, &out_len);
		assert_non_null(out);
		assert_non_null(memmem(out, out_len, LINES, strlen(LINES)));
		again = sshd_block_insert(out, out_len, 1, LINES, &out_len);
		assert_non_null(again);
		back = remove_all(again, out_len, &back_len, &n);
		assert_non_null(back);
		assert_int_equal(n, 2);
		assert_int_equal(back_len, len);
		assert_memory_equal(back, text, len);
		free(out);
		free(again);
		free(back);
	}
}

/*
 * sshd_block_line_outside numbers the lines without the blocks. Lines inside a
 * block get 0.
 */
TEST_CASE(test_lines_keep_their_number_outside)
{
	static const char text[] =
	    "1\n# BEGIN keyveto x\nOnHit b\nOnError c\n"
	    "# END keyveto\n2\n# BEGIN keyveto\n#d\n# END keyveto\n3\n\n5";
	static const size_t want[] = { 1, 0, 0, 0, 2, 2, 0, 0, 3, 3, 4, 5 };

	for (size_t i = 0; i < COUNT(want); i++)
		if (i != 4 && i != 8)
			assert_int_equal(sshd_block_line_outside(text,
					     sizeof(text) - 1, i + 1),
			    want[i]);
}

/* The lines of all blocks together, without the marks. */
TEST_CASE(test_lines_are_those_between_the_marks)
{
	static const char text[] =
	    "a\n# BEGIN keyveto x\nb\nc\n# END keyveto\n"
	    "d\n# BEGIN keyveto\n# END keyveto\n# BEGIN keyveto\ne\n"
	    "# END keyveto";
	char why[256], *out;
	size_t len, n;

	out = sshd_block_lines(text, sizeof(text) - 1, &len, &n, why,
	    sizeof(why));
	assert_non_null(out);
	assert_int_equal(n, 3);
	assert_string_equal(out, "b\nc\ne\n");
	assert_int_equal(len, 6);
	free(out);
	assert_null(sshd_block_lines(text, sizeof(text) - 2 - 13, &len, &n, why,
	    sizeof(why)));
	assert_string_equal(why,
	    "9: a mark of keyveto's without the other "
	    "one; take out keyveto's lines, and the marks, by hand");
}

/* A line that an administrator wrote between the marks is not keyveto's. */
TEST_CASE(test_lines_of_other_kinds_stay)
{
	static const char text[] =
	    "a\n# BEGIN keyveto x\n"
	    "AuthorizedKeysFile none\n\tallowusers alice\n# why\n\n"
	    "authorizedkeyscommanduser=root\nAuthorizedKeysCommandUsers x\n"
	    "session requisite pam_keyveto.so\r\nauth required pam_a.so\n"
	    "session requisite \\\n  pam_keyveto.so\n"
	    "session required \\ \r\n  pam_b.so\nOnHit warn\n"
	    "AllowKey x\\\n# END keyveto\nb";
	size_t len, n;
	char *out = remove_all(text, sizeof(text) - 1, &len, &n);

	assert_non_null(out);
	assert_int_equal(n, 1);
	assert_string_equal(out,
	    "a\n\tallowusers alice\n"
	    "AuthorizedKeysCommandUsers x\nauth required pam_a.so\n"
	    "session required \\ \r\n  pam_b.so\nAllowKey x\\\nb");
	assert_int_equal(len, strlen(out));
	free(out);
}

TEST_CASE(test_text_without_marks_stays)
{
	static const char text[] = "a\n # BEGIN keyveto\n#BEGIN keyveto\nb";
	size_t len, n;
	char *out = remove_all(text, sizeof(text) - 1, &len, &n);

	assert_non_null(out);
	assert_int_equal(n, 0);
	assert_string_equal(out, text);
	free(out);
}

TEST_CASE(test_marks_in_disorder_are_refused)
{
	static const struct {
		const char *text, *line;
	} bad[] = {
		{ "a\n# BEGIN keyveto\nb\n", "2:" },
		{ "# END keyveto\n", "1:" },
		{ "# BEGIN keyveto\n# BEGIN keyveto\n# END keyveto\n", "1:" },
		{ "# BEGIN keyveto\r\n# END keyveto\r\nx\n# END keyveto",
		    "4:" },
	};
	char why[256];
	size_t len, n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_null(sshd_block_remove(bad[i].text, strlen(bad[i].text),
		    &len, &n, why, sizeof(why)));
		assert_memory_equal(why, bad[i].line, 2);
	}
}
