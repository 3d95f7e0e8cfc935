/* SPDX-License-Identifier: ISC */
#include "keys/found.h"

#include "testkeys.h"

static struct {
	size_t keys, problems;
	enum kv_part part[2];
	char text[KV_KEYTYPE_NAME_BYTES];
	uint64_t line;
} seen;

static void
on_key(const struct input_key *key, void *arg)
{
	(void)arg;
	assert_true(seen.keys < COUNT(seen.part));
	seen.part[seen.keys++] = key->part;
	seen.line = key->line;
	assert_string_equal(key->path, "file");
}

static void
on_problem(const struct input_problem *problem, void *arg)
{
	(void)arg;
	seen.problems++;
	seen.line = problem->line;
	assert_true(problem->reason[0] != '\0');
	if (problem->unknown_type)
		strcpy(seen.text, problem->type);
}

static const struct input_sink sink = { .key = on_key, .problem = on_problem };

static struct found
start(void)
{
	memset(&seen, 0, sizeof(seen));
	return (struct found){ .sink = &sink, .path = "file", .line = 7 };
}

TEST_CASE(a_certificate_is_two_keys_and_counts_once)
{
	struct found f = start();
	struct testkey key, ca;
	struct blob cert;
	struct kv_sshkey parsed;

	testkey_new(&key, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_ECDSA_P256);
	testcert_new(&cert, &key, &ca);
	assert_ok(kv_sshkey_parse(cert.p, cert.len, &parsed));
	found_key(&f, 3, &parsed, (struct kv_span){ 0 });
	assert_int_equal(f.n, 1);
	assert_int_equal(seen.keys, 2);
	assert_int_equal(seen.part[0], KV_PART_KEY);
	assert_int_equal(seen.part[1], KV_PART_CA);
	assert_int_equal(seen.line, 3);
}

TEST_CASE(a_problem_counts_as_found)
{
	struct found f = start();

	found_problem(&f, 5, "reason");
	assert_int_equal(f.n, 1);
	assert_int_equal(seen.line, 5);
	assert_int_equal(seen.problems, 1);
}

TEST_CASE(the_name_of_an_unknown_type_is_cut_to_the_longest)
{
	struct found f = start();
	char longest[2 * KV_KEYTYPE_NAME_BYTES];

	found_unknown_type(&f, span_of("ssh-new"));
	assert_string_equal(seen.text, "ssh-new");
	assert_int_equal(seen.line, 7);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	found_unknown_type(&f, span_of(longest));
	assert_int_equal(strlen(seen.text), KV_KEYTYPE_NAME_BYTES - 1);
	assert_int_equal(seen.problems, 2);
}
