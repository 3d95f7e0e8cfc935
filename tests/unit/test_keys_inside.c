/* SPDX-License-Identifier: ISC */
#include "keys/inside.h"

#include "kv_line.h"
#include "testkeys.h"

#define BASE64 "MIIEpAIBAAKCAQEAx+5vMIIEpAIBAAKCAQEAx+5v"
#define BODY "\\n" BASE64 "\\n"

static uint8_t blob[KV_BLOB_MAX_BYTES];
/* What was found, in order: "key ann, block 34, ". */
static char seen[1024];

static void
on_found(const struct inside_found *found, void *arg)
{
	static const char *const names[] = { [INSIDE_KEY] = "key",
		[INSIDE_BLOCK] = "block",
		[INSIDE_UNKNOWN] = "unknown",
		[INSIDE_PROBLEM] = "problem" };
	const char *text = found->is == INSIDE_PROBLEM ?
	    found->reason :
	    format("%.*s", (int)found->text.len, (const char *)found->text.p);

	assert_ptr_equal(arg, seen);
	if (found->is == INSIDE_TEXT)
		return;
	assert_int_equal(found->is == INSIDE_KEY, found->key != NULL);
	assert_true(strlen(seen) + strlen(text) + 16 < sizeof(seen));
	strcat(strcat(strcat(seen, names[found->is]), " "), text);
	strcat(seen, ", ");
}

static void
expect(const char *text, size_t n, const char *want)
{
	seen[0] = '\0';
	assert_int_equal(inside_find(span_of(text), blob, on_found, seen), n);
	assert_string_equal(seen, want);
}

static char *
make_line(enum kv_keytype type)
{
	struct testkey key;

	testkey_new(&key, type);
	return testkey_line(&key);
}

TEST_CASE(a_key_is_found_with_its_comment)
{
	const char *line = make_line(KV_KEY_ED25519);

	expect(format("keys: [ '%s ann', \"%s\" ]", line, line), 2,
	    "key ann, key , ");
	/* The name before the base64 need not be there. */
	expect(strchr(line, ' ') + 1, 1, "key , ");
	expect(format("%s bob <%s>", line, line), 2, "key bob, key , ");
	expect("a word that has AAAA in it, and no key behind that", 0, "");
}

TEST_CASE(escapes_are_read_three_times_at_most)
{
	const char *line = make_line(KV_KEY_ED25519);
	const char *base64 = strchr(line, ' ') + 1;

	expect(format("ssh-ed25519%%20%s", base64), 1, "key , ");
	expect(format("ssh-ed25519&#32;%s\\n", base64), 1, "key , ");
	expect(format("%%41%%41%%41%%41%s", base64 + 4), 1, "key , ");
	expect(format("%%252541AAA%s", base64 + 4), 1, "key , ");
	expect(format("%%25252541AAA%s", base64 + 4), 0, "");
	expect(format("x\\n# %s", line), 0, "");
	expect(format("x\\\\\\\\n%s", line), 1, "key , ");
}

TEST_CASE(only_a_whole_word_is_a_key)
{
	const char *line = make_line(KV_KEY_ED25519);

	expect(format("data: %s", base64_of(line, strlen(line))), 0, "");
	expect(format("x%s", strchr(line, ' ') + 1), 0, "");
	expect(format("%sAAAA", line), 1,
	    "problem data after the end of the key, ");
}

TEST_CASE(a_block_is_found_if_it_is_whole)
{
	const char *block = "block -----BEGIN X-----\n\n" BASE64
			    "\n\n-----END X-----\n, ";

	expect("k = \"-----BEGIN X-----" BODY "-----END X-----\"", 1, block);
	expect("-----BEGIN Y----- -----BEGIN X-----" BODY "-----END X-----", 1,
	    block);
	expect("k = '-----BEGIN X-----", 0, "");
	expect("k = -----BEGIN X-----" BODY, 0, "");
	expect("k = -----BEGIN X-----" BODY "-----END Y-----", 0, "");
	expect("x -----BEGIN CMS-----" BODY "-----END CMS-----", 0, "");
	/* Both share their dashes. */
	expect("-----BEGIN X-----END X-----" BASE64, 0, "");
	/* Code names both marks. */
	expect("('-----BEGIN X-----', '-----END X-----')", 0, "");
}

TEST_CASE(a_key_that_cannot_be_read_is_a_problem)
{
	char *line = make_line(KV_KEY_ED25519);
	struct blob b = { 0 };

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

	if (found->is == INSIDE_KEY && found->text.len > *longest)
		*longest = found->text.len;
}

/* Else the time would grow with the square of the line. */
TEST_CASE(a_long_comment_is_cut_off)
{
	char text[4096];
	size_t longest = 0;

	snprintf(text, sizeof(text), "x: %s %03000d", make_line(KV_KEY_ED25519),
	    0);
	assert_int_equal(inside_find(span_of(text), blob, note_longest,
			     &longest),
	    1);
	assert_int_equal(longest, 1024);
}
