/* SPDX-License-Identifier: ISC */
#include "keys/fold.h"

#include <stdio.h>
#include <string.h>

#include "testlib.h"

#define WORD "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwN"

static struct fold fold;

static void
expect(const char *want, uint64_t line)
{
	assert_span_is((struct kv_span){ fold.text, fold.len }, want);
	assert_int_equal(fold.line, line);
	fold_free(&fold);
	assert_null(fold.text);
}

static void
a_line_of_ldif_goes_on_behind_a_blank(void **state)
{
	(void)state;
	assert_true(fold_start(&fold, span_of("sshPublicKey: ssh-"), true, 3));
	assert_true(fold_add(&fold, span_of(" rsa AA")));
	assert_true(fold_add(&fold, span_of("  AA")));
	assert_false(fold_add(&fold, span_of("uid: x")));
	assert_false(fold_add(&fold, span_of("")));
	expect("sshPublicKey: ssh-rsa AA AA", 3);
	/* The name of an attribute may be folded, too. */
	assert_true(fold_start(&fold, span_of("sshPub"), true, 4));
	assert_true(fold_add(&fold, span_of(" licKey: x")));
	expect("sshPublicKey: x", 4);
	assert_false(fold_start(&fold, span_of(" goes on"), true, 5));
	assert_false(fold_start(&fold, span_of("two words"), true, 5));
}

static void
lines_of_base64_are_joined_and_prose_is_not(void **state)
{
	(void)state;
	assert_true(fold_start(&fold, span_of("  " WORD "  "), false, 9));
	assert_true(fold_add(&fold, span_of("  " WORD)));
	assert_true(fold_add(&fold, span_of("AA==")));
	assert_false(fold_add(&fold, span_of("two words")));
	assert_false(fold_add(&fold, span_of("")));
	expect(WORD WORD "AA==", 9);
	/* Lines of other lengths are other texts. */
	assert_true(fold_start(&fold, span_of(WORD), false, 9));
	assert_false(fold_add(&fold, span_of(WORD "A")));
	assert_true(fold_add(&fold, span_of("bob")));
	assert_false(fold_add(&fold, span_of("bob")));
	assert_false(fold_add(&fold, span_of(WORD)));
	expect(WORD "bob", 9);
	assert_true(fold_start(&fold, span_of(WORD "="), false, 9));
	assert_false(fold_add(&fold, span_of(WORD)));
	expect(WORD "=", 9);
	assert_false(fold_start(&fold, span_of("word"), false, 9));
	assert_false(fold_start(&fold, span_of(WORD " and more"), false, 9));
}

static void
marks_of_a_diff_or_a_mail_are_no_base64(void **state)
{
	static const char *const marks[] = { "+", "-", "> ", ">" };
	char text[3][80];

	(void)state;
	for (size_t i = 0; i < COUNT(marks); i++) {
		snprintf(text[0], sizeof(text[0]), "%s" WORD, marks[i]);
		snprintf(text[1], sizeof(text[1]), "%sAA==", marks[i]);
		assert_true(fold_start(&fold, span_of(text[0]), false, 9));
		/* Lines without the mark are other texts. */
		assert_false(fold_add(&fold, span_of(WORD)));
		assert_false(fold_add(&fold, span_of("")));
		assert_true(fold_add(&fold, span_of(text[0])));
		assert_true(fold_add(&fold, span_of(text[1])));
		expect(WORD WORD "AA==", 9);
	}
	/* A line that goes on may begin with +. */
	assert_true(fold_start(&fold, span_of(WORD), false, 9));
	assert_true(fold_add(&fold, span_of("+AA=")));
	expect(WORD "+AA=", 9);
	assert_false(fold_start(&fold, span_of("+word"), false, 9));
	/* A longer item of a list is a text of its own. */
	assert_false(fold_start(&fold, span_of("- " WORD WORD), false, 9));
}

static void
a_line_that_gets_too_long_ends(void **state)
{
	char word[1025];
	size_t n = 0;

	(void)state;
	memset(word, 'A', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_true(fold_start(&fold, span_of(word), false, 1));
	while (fold_add(&fold, span_of(word)))
		n++;
	assert_int_equal(fold.len, FOLD_MAX_BYTES);
	assert_int_equal(n + 1, FOLD_MAX_BYTES / 1024);
	fold_free(&fold);
}

static void
an_entry_begins_with_its_name_in_any_case(void **state)
{
	(void)state;
	assert_true(fold_is_dn(span_of("dn: uid=x")));
	assert_true(fold_is_dn(span_of("DN:: dWlkPXg=")));
	assert_false(fold_is_dn(span_of("dn:")));
	assert_false(fold_is_dn(span_of(" dn: x")));
	assert_true(fold_is_blank(span_of(" \t\r")));
	assert_false(fold_is_blank(span_of(" x")));
	assert_true(fold_is_attribute(span_of("# comment")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_of_ldif_goes_on_behind_a_blank),
		TEST(lines_of_base64_are_joined_and_prose_is_not),
		TEST(marks_of_a_diff_or_a_mail_are_no_base64),
		TEST(a_line_that_gets_too_long_ends),
		TEST(an_entry_begins_with_its_name_in_any_case),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
