/* SPDX-License-Identifier: ISC */
#include "keys/owner.h"

#include <string.h>

#include "testlib.h"

/* The texts, in order, with their owners: "KEY1 of ann, ". */
static char seen[1024];

/* A text with a K is a key. */
static bool
has_key(struct kv_span text, void *arg)
{
	(void)arg;
	return text.len > 0 && memchr(text.p, 'K', text.len) != NULL;
}

static void
on_text(const struct owner_text *t, void *arg)
{
	(void)arg;
	if (!has_key(t->text, NULL))
		return;
	assert_true(strlen(seen) + t->text.len + 600 < sizeof(seen));
	strcat(seen,
	    format("%.*s of %.*s", (int)t->text.len, (const char *)t->text.p,
		(int)t->owner.name.len, (const char *)t->owner.name.p));
	if (t->owner.dn.len > 0)
		strcat(seen,
		    format(" (%.*s)", (int)t->owner.dn.len,
			(const char *)t->owner.dn.p));
	strcat(seen, ", ");
}

static void
on_note(uint64_t line, const char *text, void *arg)
{
	(void)arg;
	strcat(seen, format("%u: %.15s, ", (unsigned int)line, text));
}

static struct owners *
start(void)
{
	const struct owner_sink sink = {
		.has_key = has_key,
		.text = on_text,
		.note = on_note,
	};
	struct owners *o = owners_new(&sink);

	assert_non_null(o);
	seen[0] = '\0';
	return o;
}

static void
finish(struct owners *o, const char *want)
{
	owners_flush(o, true, 9);
	owners_free(o);
	assert_string_equal(seen, want);
}

static void
expect(const char *json, const char *want)
{
	struct owners *o = start();
	size_t used;

	assert_true(owners_json(o, span_of(json), false, 1, &used));
	finish(o, want);
}

static void
the_nearest_object_names_the_owner(void **state)
{
	(void)state;
	expect("[{\"key\":\"K1\",\"user\":{\"login\":\"ann\"}},"
	       "{\"login\":\"bob\",\"keys\":[\"K2\",{\"key\":\"K3\"}]}]",
	    "K1 of ann, K2 of bob, K3 of bob, ");
	expect("{\"a\":{\"key\":\"K1\",\"user_name\":\"ann\"},\"uid\":\"x\"}",
	    "K1 of ann, ");
	expect("{\"mail\":\"m\",\"User-Name\":\"ann\",\"key\":\"K1\"}",
	    "K1 of ann, ");
	expect("{\"key\":\"K1\"}", "K1 of , ");
}

static void
a_name_beside_the_key_is_the_last_resort(void **state)
{
	(void)state;
	expect("{\"name\":\"laptop\",\"key\":\"K1\"}", "K1 of laptop, ");
	expect(
	    "{\"login\":\"ann\",\"k\":[{\"name\":\"laptop\",\"key\":\"K1\"}]}",
	    "K1 of ann, ");
	expect("{\"title\":\"laptop\",\"key\":\"K1\"}", "K1 of laptop, ");
	/* GitHub's title of a key without one. */
	expect("{\"title\":\"ssh-rsa AAAA\",\"key\":\"K1\"}", "K1 of , ");
}

static void
a_long_name_is_cut_between_letters(void **state)
{
	char name[OWNER_MAX_BYTES + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = "\xc3\xbc"[i % 2];
	name[sizeof(name) - 1] = '\0';
	expect(format("{\"login\":\"%s\",\"key\":\"K1\"}", name),
	    format("K1 of %.*s..., ", OWNER_MAX_BYTES - 4, name));
	expect("{\"login\":\"a\\u006e\\\\\",\"key\":\"K1\"}", "K1 of an\\, ");
}

static void
json_that_breaks_off_is_given_with_a_note(void **state)
{
	struct owners *o = start();
	size_t used;

	(void)state;
	assert_false(owners_json(o, span_of("{ no JSON }"), false, 1, &used));
	assert_true(
	    owners_json(o, span_of("{\"key\":\"K1\","), false, 1, &used));
	assert_true(owners_in_json(o));
	finish(o, "K1 of , 9: the JSON is dam, ");
}

static void
an_entry_of_ldif_names_the_owner(void **state)
{
	struct owners *o = start();

	(void)state;
	owners_ldif(o, span_of("dn: cn=a"), 1);
	owners_ldif(o, span_of("key: K1"), 2);
	owners_ldif(o, span_of("uid:: YW5u"), 3);
	owners_flush(o, true, 4);
	owners_ldif(o, span_of("dn: cn=b"), 5);
	owners_ldif(o, span_of("key: K2"), 6);
	finish(o, "key: K1 of ann (cn=a), key: K2 of cn=b (cn=b), ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_nearest_object_names_the_owner),
		TEST(a_name_beside_the_key_is_the_last_resort),
		TEST(a_long_name_is_cut_between_letters),
		TEST(json_that_breaks_off_is_given_with_a_note),
		TEST(an_entry_of_ldif_names_the_owner),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
