/* SPDX-License-Identifier: ISC */
/* What becomes of a key that a DenyKey line names. */
#include "kv_verdict.h"

#include "testkeys.h"
#include "testlib.h"

#include <string.h>
#include <unistd.h>

#include "kv_line.h"
#include "kv_log.h"

#define NOW 1700000000 /* 2023-11-14 */

static struct kv_judge j;
static struct kv_decision d;
static struct testkey key, ca, other;
static const char *filter;

static const char *
fingerprint_of(const struct testkey *k)
{
	uint8_t digest[KV_SHA256_BYTES];
	char *text = test_alloc(KV_FINGERPRINT_BYTES);

	kv_fingerprint_digest_blob(k->blob.p, k->blob.len, digest);
	kv_fingerprint_format(digest, text);
	return text;
}

/* A filter without keys lets every key in. */
static int
make_keys(void **state)
{
	test_begin(state);
	testkey_new(&key, KV_KEY_ED25519);
	testkey_new(&ca, KV_KEY_RSA);
	testkey_new(&other, KV_KEY_ECDSA_P256);
	return test_cleanup(state);
}

static int
make_filter(void **state)
{
	(void)state;
	output_of(ORACLE "create %s/empty --hashes 12 --length 18", tmp_dir());
	filter = format("Filter %s\n", tmp_path("empty"));
	return 0;
}

static int
close_judge(void **state)
{
	kv_judge_close(&j);
	return test_cleanup(state);
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_filter, close_judge)

static void
configure(const char *text)
{
	kv_judge_close(&j);
	kv_judge_open(&j, tmp_text("keyveto.conf", text), geteuid());
}

static void
judge_as(const char *type, const struct blob *blob)
{
	static uint8_t decoded[KV_BLOB_MAX_BYTES];
	struct kv_sshkey offered;
	const char *text = base64_of(blob->p, blob->len);

	memset(&d, 0xa5, sizeof(d));
	kv_judge_offered(&j, span_of(type), span_of(text), decoded,
	    sizeof(decoded), NOW, &offered, &d);
}

static void
judge(const struct testkey *k)
{
	judge_as(kv_keytype_name(k->type), &k->blob);
}

static void
expect(enum kv_verdict verdict, enum kv_action action)
{
	if (d.verdict != verdict || d.action != action)
		fail_msg("%s %s instead of %s %s: %s",
		    kv_verdict_name(d.verdict), kv_action_name(d.action),
		    kv_verdict_name(verdict), kv_action_name(action), d.reason);
}

static void
expect_denied(enum kv_action action, const char *reason)
{
	expect(KV_VERDICT_LISTED, action);
	assert_ptr_equal(d.list, &kv_denied);
	assert_string_equal(d.reason, reason);
}

static void
only_the_key_of_the_line_is_refused(void **state)
{
	const struct kv_log_context context = { .via = "guard" };
	char line[KV_LOG_LINE_BYTES];

	(void)state;
	configure(
	    format("%sDenyKey %s incident 7\n", filter, fingerprint_of(&key)));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "incident 7");
	assert_string_equal(d.fingerprint, fingerprint_of(&key));
	kv_log_format(&context, &d, line);
	assert_contains(line,
	    "part=key list=keyveto.conf source=DenyKey "
	    "reason=\"incident 7\"");
	judge(&other);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_null(d.list);
	/* A debug log tells clean keys apart. */
	assert_string_equal(d.fingerprint, fingerprint_of(&other));
}

static void
it_wins_over_allow_key(void **state)
{
	const char *fp = fingerprint_of(&key);

	(void)state;
	configure(format("%sAllowKey %s\nDenyKey %s\n", filter, fp, fp));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "");
	configure(format("%sDenyKey %s since=2023-11-15\nAllowKey %s still\n",
	    filter, fp, fp));
	judge(&key);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
it_counts_from_its_day_on(void **state)
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

	(void)state;
	for (size_t i = 0; i < COUNT(days); i++) {
		configure(format("%sDenyKey %s since=%s why\n", filter,
		    fingerprint_of(&key), days[i].since));
		judge(&key);
		if (days[i].counts)
			expect_denied(KV_ACTION_DENY, "why");
		else
			expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	}
	/* Of two lines that count the first names the reason. */
	configure(
	    format("%sDenyKey %s since=2023-11-15 late\nDenyKey %s early\n"
		   "DenyKey %s second\n",
		filter, fingerprint_of(&key), fingerprint_of(&key),
		fingerprint_of(&key)));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "early");
}

/* Neither a filter nor a list is needed, nor a configuration without mistakes. */
static void
it_holds_while_nothing_can_be_read(void **state)
{
	static const char *const texts[] = {
		"OnError allow\nFilter /nonexistent\n",
		"OnError allow\nBlocklist /dev/null\n",
		"OnError allow\nNoSuchKeyword\n",
		"OnError allow\nDenyKey nonsense\n",
		"",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		configure(
		    format("%sDenyKey %s\n", texts[i], fingerprint_of(&key)));
		judge(&key);
		expect_denied(KV_ACTION_DENY, "");
		judge_as("ssh-of-tomorrow", &key.blob);
		expect_denied(KV_ACTION_DENY, "");
		judge(&other);
		assert_int_equal(d.verdict, KV_VERDICT_ERROR);
	}
	/* A mistake must not let a key in, or refuse it, unless a line does. */
	configure(format("NoSuchKeyword\nOnHit warn\nDenyKey %s\n",
	    fingerprint_of(&key)));
	judge(&key);
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
	judge_as("ssh-of-tomorrow", &key.blob);
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
}

static void
on_hit_says_what_happens(void **state)
{
	(void)state;
	configure(
	    format("%sOnHit warn\nDenyKey %s\n", filter, fingerprint_of(&key)));
	judge(&key);
	expect_denied(KV_ACTION_WARN, "");
	configure(format("%sOnProbable warn\nDenyKey %s\n", filter,
	    fingerprint_of(&key)));
	judge(&key);
	expect_denied(KV_ACTION_DENY, "");
}

static void
both_keys_of_a_certificate_are_judged(void **state)
{
	static const char type[] = "ssh-ed25519-cert-v01@openssh.com";
	struct blob cert;

	(void)state;
	testcert_new(&cert, &key, &ca);
	configure(format("%sDenyKey %s a key\n", filter, fingerprint_of(&key)));
	judge_as(type, &cert);
	expect_denied(KV_ACTION_DENY, "a key");
	assert_int_equal(d.part, KV_PART_KEY);
	configure(format("%sDenyKey %s a CA\n", filter, fingerprint_of(&ca)));
	judge_as(type, &cert);
	expect_denied(KV_ACTION_DENY, "a CA");
	assert_int_equal(d.part, KV_PART_CA);
	assert_string_equal(d.fingerprint, fingerprint_of(&ca));
	/* A CA is no way around it, and AllowKey for the key is none either. */
	configure(format("%sDenyKey %s\nAllowKey %s\n", filter,
	    fingerprint_of(&ca), fingerprint_of(&key)));
	judge_as(type, &cert);
	expect_denied(KV_ACTION_DENY, "");
}

/* The same modulus under each exponent that programs choose. */
static void
another_exponent_is_no_way_around_it(void **state)
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
	struct testkey denied, offered;

	(void)state;
	for (size_t i = 0; i < COUNT(known); i++) {
		testkey_rsa_numbers(&denied, known[i].byte, known[i].len, n,
		    256);
		configure(format("%sDenyKey %s why\n", filter,
		    fingerprint_of(&denied)));
		testkey_rsa_numbers(&offered, odd, sizeof(odd), n, 256);
		judge(&offered);
		expect_denied(KV_ACTION_DENY, "why");
		assert_string_equal(d.fingerprint, fingerprint_of(&offered));
		testkey_new(&offered, KV_KEY_RSA);
		judge(&offered);
		expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	}
	/* A key that was denied with an exponent of its own is one key. */
	testkey_rsa_numbers(&denied, odd, sizeof(odd), n, 256);
	configure(format("%sDenyKey %s\n", filter, fingerprint_of(&denied)));
	judge(&denied);
	expect_denied(KV_ACTION_DENY, "");
	testkey_rsa_numbers(&offered, known[0].byte, known[0].len, n, 256);
	judge(&offered);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
}

static void
another_name_is_no_way_around_it(void **state)
{
	struct testkey key_now, key_old;

	(void)state;
	testkey_new(&key_now, KV_KEY_MLDSA44_ED25519);
	key_old = key_now;
	key_old.type = KV_KEY_MLDSA44_ED25519_OLD;
	key_old.blob.len = 0;
	put_text(&key_old.blob, kv_keytype_name(key_old.type));
	put_blob(&key_old.blob, &key_old.fields);
	configure(format("%sDenyKey %s\n", filter, fingerprint_of(&key_now)));
	judge(&key_old);
	expect_denied(KV_ACTION_DENY, "");
	configure(format("%sDenyKey %s\n", filter, fingerprint_of(&key_old)));
	judge(&key_now);
	expect_denied(KV_ACTION_DENY, "");
}

/* OnUnsupported does not let in a key that a line names. */
static void
a_key_of_an_unknown_type_is_refused(void **state)
{
	struct blob blob = { .len = 0 };
	struct testkey unknown = { .blob = blob };

	(void)state;
	put_text(&unknown.blob, "ssh-of-tomorrow");
	put_text(&unknown.blob, "any bytes");
	configure(format("%sDenyKey %s\n", filter, fingerprint_of(&unknown)));
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
static void
a_line_only_takes_away(void **state)
{
	const char *cert_name = "ssh-ed25519-cert-v01@openssh.com";
	const char *keys = tmp_text("keys", testkey_line(&key));
	const char *cas = tmp_text("cas", testkey_line(&ca));
	const struct testkey *named[] = { &key, &ca };
	enum kv_action without;
	const char *text;
	struct blob cert;

	(void)state;
	testcert_new(&cert, &key, &ca);
	output_of(ORACLE "create %s/listing --hashes 12 --length 18 %s",
	    tmp_dir(), keys);
	output_of("python3 -B tests/oracle/blocklist.py create %s/list --id 3 "
		  "%s",
	    tmp_dir(), cas);
	for (unsigned int n = 0; n < 512 * 2 * 3; n++) {
		const struct testkey *line = named[n / 512 % 2];
		const char *type = n / 1024 == 0 ? "ssh-ed25519" :
		    n / 1024 == 1		 ? cert_name :
						   "ssh-of-tomorrow";
		const struct blob *blob = n / 1024 == 1 ? &cert : &key.blob;

		text = configuration(n % 512);
		configure(text);
		judge_as(type, blob);
		without = d.action;
		configure(format("%sDenyKey %s\n", text, fingerprint_of(line)));
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
	const struct CMUnitTest tests[] = {
		TEST(only_the_key_of_the_line_is_refused),
		TEST(it_wins_over_allow_key),
		TEST(it_counts_from_its_day_on),
		TEST(it_holds_while_nothing_can_be_read),
		TEST(on_hit_says_what_happens),
		TEST(both_keys_of_a_certificate_are_judged),
		TEST(another_exponent_is_no_way_around_it),
		TEST(another_name_is_no_way_around_it),
		TEST(a_line_only_takes_away),
		TEST(a_key_of_an_unknown_type_is_refused),
	};

	return cmocka_run_group_tests(tests, make_keys, NULL);
}
