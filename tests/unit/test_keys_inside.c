/* SPDX-License-Identifier: ISC */
#include "keys/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv_line.h"
#include "testkeys.h"

#define BODY "\\nMIIEpAIBAAKCAQEA\\n"

static uint8_t blob[KV_BLOB_MAX_BYTES];
/* What was found, in order: "key ann, block 34, ". */
static char seen[1024];

static void
on_found(const struct inside_found *found, void *arg)
{
	static const char *const names[] = {
		[INSIDE_KEY] = "key",
		[INSIDE_BLOCK] = "block",
		[INSIDE_BEGIN] = "begin",
		[INSIDE_UNKNOWN] = "unknown",
		[INSIDE_PROBLEM] = "problem",
	};
	const char *text = found->is == INSIDE_PROBLEM ?
	    found->reason :
	    format("%.*s", (int)found->text.len, (const char *)found->text.p);

	assert_ptr_equal(arg, seen);
	assert_int_equal(found->is == INSIDE_KEY, found->key != NULL);
	assert_true(strlen(seen) + strlen(text) + 16 < sizeof(seen));
	strcat(strcat(strcat(seen, names[found->is]), " "), text);
	strcat(seen, ", ");
}

/* Also without somebody to tell. */
static void
expect(const char *text, size_t n, const char *want)
{
	seen[0] = '\0';
	assert_int_equal(inside_find(span_of(text), blob, on_found, seen), n);
	assert_string_equal(seen, want);
	assert_int_equal(inside_find(span_of(text), blob, NULL, NULL), n);
}

static char *
make_line(enum kv_keytype type)
{
	struct testkey key;

	testkey_new(&key, type);
	return testkey_line(&key);
}

static void
a_key_is_found_with_its_comment(void **state)
{
	const char *line = make_line(KV_KEY_ED25519);

	(void)state;
	expect(format("keys: [ '%s ann', \"%s\" ]", line, line), 2,
	    "key ann, key , ");
	/* The name before the base64 need not be there. */
	expect(strchr(line, ' ') + 1, 1, "key , ");
	expect(format("%s bob <%s>", line, line), 2, "key bob, key , ");
	expect("a word that has AAAA in it, and no key behind that", 0, "");
}

static void
escapes_are_read_three_times_at_most(void **state)
{
	const char *line = make_line(KV_KEY_ED25519);
	const char *base64 = strchr(line, ' ') + 1;

	(void)state;
	expect(format("ssh-ed25519%%20%s", base64), 1, "key , ");
	expect(format("ssh-ed25519&#32;%s\\n", base64), 1, "key , ");
	expect(format("%%41%%41%%41%%41%s", base64 + 4), 1, "key , ");
	expect(format("%%252541AAA%s", base64 + 4), 1, "key , ");
	expect(format("%%25252541AAA%s", base64 + 4), 0, "");
	expect(format("x\\n# %s", line), 0, "");
	expect(format("x\\\\\\\\n%s", line), 1, "key , ");
}

static void
base64_is_decoded_twice_at_most(void **state)
{
	const char *line = make_line(KV_KEY_ED25519);
	char *once = base64_of(line, strlen(line));
	char *twice = base64_of(once, strlen(once));
	char *thrice = base64_of(twice, strlen(twice));

	(void)state;
	expect(format("data: %s", once), 1, "key , ");
	expect(format("data: %s", twice), 1, "key , ");
	expect(format("data: %s", thrice), 0, "");
}

static void
a_block_is_found_whole_or_begins(void **state)
{
	(void)state;
	expect("k = \"-----BEGIN X-----" BODY "-----END X-----\"", 1,
	    "block -----BEGIN X-----\n\nMIIEpAIBAAKCAQEA\n\n-----END X-----\n, ");
	expect("k = '-----BEGIN X-----", 1, "begin -----BEGIN X-----, ");
	expect("k = -----BEGIN X-----" BODY, 1,
	    "problem PEM block has no end, ");
	expect("grep -e '-----BEGIN X-----' file | head", 0, "");
}

static void
a_key_that_cannot_be_read_is_a_problem(void **state)
{
	char *line = make_line(KV_KEY_ED25519);
	struct blob b = { 0 };

	(void)state;
	put_text(&b, "ssh-new");
	put_text(&b, "bytes of a key that is of no type that is known");
	expect(format("x: ssh-new %s", base64_of(b.p, b.len)), 1,
	    "unknown ssh-new, ");
	expect(format("x: ssh-old %s", base64_of(b.p, b.len)), 0, "");
	line[strlen(line) - 8] = '\0';
	expect(format("x: %s", line), 1, "problem key data ends too early, ");
	/* An example in prose. */
	line[strlen("ssh-ed25519 ") + 24] = '\0';
	expect(format("x: %s", line), 0, "");
}

static void
note_longest(const struct inside_found *found, void *arg)
{
	size_t *longest = arg;

	if (found->text.len > *longest)
		*longest = found->text.len;
}

/* Else the time would grow with the square of the line. */
static void
a_long_comment_is_cut_off(void **state)
{
	char text[4096];
	size_t longest = 0;

	(void)state;
	snprintf(text, sizeof(text), "x: %s %03000d", make_line(KV_KEY_ED25519),
	    0);
	assert_int_equal(inside_find(span_of(text), blob, note_longest,
			     &longest),
	    1);
	assert_int_equal(longest, 1024);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_key_is_found_with_its_comment),
		TEST(escapes_are_read_three_times_at_most),
		TEST(base64_is_decoded_twice_at_most),
		TEST(a_block_is_found_whole_or_begins),
		TEST(a_key_that_cannot_be_read_is_a_problem),
		TEST(a_long_comment_is_cut_off),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
