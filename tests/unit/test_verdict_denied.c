/* SPDX-License-Identifier: ISC */
/* What becomes of a key that a DenyKey line names. */
#include "testjudge.h"

static struct testkey key, ca, other;
static const char *filter;

/* A filter without keys lets every key in. */
static void
make_keys(void)
{
	testkey_new(&key, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_RSA);
	testkey_new(&other, KV_KEY_ECDSA_P256);
}

static void
make_filter(void)
{
	filter = format("Filter %s\n", filter_of("empty", ""));
}

static void
expect_denied(enum kv_action action, const char *reason)
{
	expect(KV_VERDICT_LISTED, action);
	assert_ptr_equal(d.list, &kv_denied);
	assert_string_equal(d.reason, reason);
}

TEST_CASE(only_the_key_of_the_line_is_refused)
{
	configure("%sDenyKey %s incident 7\n", filter, fingerprint_of(&key));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "incident 7");
	assert_string_equal(d.fingerprint, fingerprint_of(&key));
	expect_log("part=key list=keyveto.conf source=DenyKey "
		   "reason=\"incident 7\"");
	expect_of(&other, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_null(d.list);
	/* A debug log tells clean keys apart. */
	assert_string_equal(d.fingerprint, fingerprint_of(&other));
}

TEST_CASE(it_wins_over_allow_key)
{
	const char *fp = fingerprint_of(&key);

	configure("%sAllowKey %s\nDenyKey %s\n", filter, fp, fp);
	judge(&key);
	expect_denied(KV_ACTION_DENY, "");
	configure("%sDenyKey %s since=2023-11-15\nAllowKey %s still\n", filter,
	    fp, fp);
	expect_of(&key, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(it_counts_from_its_day_on)
{
	static const struct {
		const char *since;
		bool counts;
	} days[] = {
		{ "1970-01-01", true },
		{ "2023-11-13", true },
		{ "2023-11-14", true },
		{ "2023-11-15", false },
		{ "9999-12-31", false },
	};

	for (size_t i = 0; i < COUNT(days); i++) {
		configure("%sDenyKey %s since=%s why\n", filter,
		    fingerprint_of(&key), days[i].since);
		judge(&key);
		if (days[i].counts)
			expect_denied(KV_ACTION_DENY, "why");
		else
			expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	}
	/* Of two lines that count the first names the reason. */
	configure("%sDenyKey %s since=2023-11-15 late\nDenyKey %s early\n"
		  "DenyKey %s second\n",
	    filter, fingerprint_of(&key), fingerprint_of(&key),
	    fingerprint_of(&key));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "early");
}

/* Neither a filter nor a list is needed, nor a configuration without mistakes. */
TEST_CASE(it_holds_while_nothing_can_be_read)
{
	static const char *const texts[] = {
		"OnError allow\nFilter /nonexistent\n",
		"OnError allow\nBlocklist /dev/null\n",
		"OnError allow\nNoSuchKeyword\n",
		"OnError allow\nDenyKey nonsense\n",
		"",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		configure("%sDenyKey %s\n", texts[i], fingerprint_of(&key));
		judge(&key);
		expect_denied(KV_ACTION_DENY, "");
		judge_as("ssh-of-tomorrow", &key.blob);
		expect_denied(KV_ACTION_DENY, "");
		judge(&other);
		assert_int_equal(d.verdict, KV_VERDICT_ERROR);
	}
	/* A mistake must not let a key in, or refuse it, unless a line does. */
	configure("NoSuchKeyword\nOnHit warn\nDenyKey %s\n",
	    fingerprint_of(&key));
	expect_of(&key, KV_VERDICT_ERROR, KV_ACTION_DENY);
	expect_as("ssh-of-tomorrow", &key.blob, KV_VERDICT_ERROR,
	    KV_ACTION_DENY);
}

TEST_CASE(on_hit_says_what_happens)
{
	configure("%sOnHit warn\nDenyKey %s\n", filter, fingerprint_of(&key));
	judge(&key);
	expect_denied(KV_ACTION_WARN, "");
	configure("%sOnProbable warn\nDenyKey %s\n", filter,
	    fingerprint_of(&key));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "");
}

TEST_CASE(both_keys_of_a_certificate_are_judged)
{
	static const char type[] = "ssh-ed25519-cert-v01@openssh.com";
	struct blob cert;

	testcert_new(&cert, &key, &ca);
	configure("%sDenyKey %s a key\n", filter, fingerprint_of(&key));
	judge_as(type, &cert);
	expect_denied(KV_ACTION_DENY, "a key");
	assert_int_equal(d.part, KV_PART_KEY);
	configure("%sDenyKey %s a CA\n", filter, fingerprint_of(&ca));
	judge_as(type, &cert);
	expect_denied(KV_ACTION_DENY, "a CA");
	assert_int_equal(d.part, KV_PART_CA);
	assert_string_equal(d.fingerprint, fingerprint_of(&ca));
	/* A CA is no way around it, and AllowKey for the key is none either. */
	configure("%sDenyKey %s\nAllowKey %s\n", filter, fingerprint_of(&ca),
	    fingerprint_of(&key));
	judge_as(type, &cert);
	expect_denied(KV_ACTION_DENY, "");
}

/* The same modulus under each exponent that programs choose. */
TEST_CASE(another_exponent_is_no_way_around_it)
{
	static const struct {
		uint8_t byte[4];
		size_t len;
	} known[] = {
		{ { 1, 0, 1 }, 3 },
		{ { 3 }, 1 },
		{ { 5 }, 1 },
		{ { 17 }, 1 },
		{ { 35 }, 1 },
		{ { 37 }, 1 },
		{ { 41 }, 1 },
	};
	static const uint8_t odd[] = { 1, 2, 3, 5 };
	const uint8_t *n = ca.blob.p + ca.blob.len - 256;
	struct testkey denied, other_key;

	for (size_t i = 0; i < COUNT(known); i++) {
		testkey_rsa_numbers(&denied, known[i].byte, known[i].len, n,
		    256);
		configure("%sDenyKey %s why\n", filter,
		    fingerprint_of(&denied));
		testkey_rsa_numbers(&other_key, odd, sizeof(odd), n, 256);
		judge(&other_key);
		expect_denied(KV_ACTION_DENY, "why");
		assert_string_equal(d.fingerprint, fingerprint_of(&other_key));
		testkey_new(&other_key, KV_KEY_RSA);
		expect_of(&other_key, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	}
	/* A key that was denied with an exponent of its own is one key. */
	testkey_rsa_numbers(&denied, odd, sizeof(odd), n, 256);
	configure("%sDenyKey %s\n", filter, fingerprint_of(&denied));
	judge(&denied);
	expect_denied(KV_ACTION_DENY, "");
	testkey_rsa_numbers(&other_key, known[0].byte, known[0].len, n, 256);
	expect_of(&other_key, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

TEST_CASE(another_name_is_no_way_around_it)
{
	struct testkey key_now, key_old;

	testkey_new(&key_now, KV_KEY_MLDSA44_ED25519);
	key_old = key_now;
	key_old.type = KV_KEY_MLDSA44_ED25519_OLD;
	key_old.blob.len = 0;
	put_text(&key_old.blob, kv_keytype_name(key_old.type));
	put_blob(&key_old.blob, &key_old.fields);
	configure("%sDenyKey %s\n", filter, fingerprint_of(&key_now));
	judge(&key_old);
	expect_denied(KV_ACTION_DENY, "");
	configure("%sDenyKey %s\n", filter, fingerprint_of(&key_old));
	judge(&key_now);
	expect_denied(KV_ACTION_DENY, "");
}

/* OnUnsupported does not let in a key that a line names. */
TEST_CASE(a_key_of_an_unknown_type_is_refused)
{
	struct blob blob = { .len = 0 };
	struct testkey unknown = { .blob = blob };

	put_text(&unknown.blob, "ssh-of-tomorrow");
	put_text(&unknown.blob, "any bytes");
	configure("%sDenyKey %s\n", filter, fingerprint_of(&unknown));
	judge_as("ssh-of-tomorrow", &unknown.blob);
	expect_denied(KV_ACTION_DENY, "");
	assert_string_equal(d.fingerprint, fingerprint_of(&unknown));
}

/* One of the configurations that the bits of n make, without a DenyKey line. */
static const char *
configuration(unsigned int n)
{
	const char *listing = n & 1 ? "listing" : "empty";

	return format("%s%s%s%s%s%s%s%s", n & 2 ? "OnHit warn\n" : "",
	    n & 4 ? "OnProbable warn\n" : "OnProbable deny\n",
	    n & 8 ? "OnError allow\n" : "",
	    n & 16 ? "OnUnsupported deny\n" : "",
	    n & 32 ? "Filter /nonexistent\n" :
		     format("Filter %s/%s\n", tmp_dir(), listing),
	    n & 64 ? format("Blocklist %s/list\n", tmp_dir()) : "",
	    n & 128 ? format("AllowKey %s\n", fingerprint_of(&key)) : "",
	    n & 256 ? "NoSuchKeyword\n" : "");
}

/* A DenyKey line lets in nobody; with OnHit warn it also refuses nobody. */
TEST_CASE(a_line_only_takes_away)
{
	const char *cert_name = "ssh-ed25519-cert-v01@openssh.com";
	const struct testkey *named[] = { &key, &ca };
	enum kv_action without;
	const char *text;
	struct blob cert;

	testcert_new(&cert, &key, &ca);
	filter_of("listing", testkey_line(&key));
	list_of("list", 3, testkey_line(&ca));
	for (unsigned int n = 0; n < 512 * 2 * 3; n++) {
		const struct testkey *line = named[n / 512 % 2];
		const char *type = n / 1024 == 0 ? "ssh-ed25519" :
		    n / 1024 == 1		 ? cert_name :
						   "ssh-of-tomorrow";
		const struct blob *blob = n / 1024 == 1 ? &cert : &key.blob;

		text = configuration(n % 512);
		configure("%s", text);
		judge_as(type, blob);
		without = d.action;
		configure("%sDenyKey %s\n", text, fingerprint_of(line));
		judge_as(type, blob);
		if (without == KV_ACTION_DENY && d.action != KV_ACTION_DENY)
			fail_msg("%s lets %s in: %s",
			    kv_verdict_name(d.verdict), type, text);
		if (n & 2 &&
		    (d.action == KV_ACTION_DENY) != (without == KV_ACTION_DENY))
			fail_msg("OnHit warn refuses %s: %s", type, text);
		if (!(n & 2) && (n / 1024 == 1 || line == &key) &&
		    d.action != KV_ACTION_DENY)
			fail_msg("%s is let in: %s", type, text);
	}
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_all = make_keys,
	    .before_each = make_filter,
	    .after_each = close_judge });
}
