/* SPDX-License-Identifier: ISC */
/*
 * What becomes of a key that needs no secret, with filters and lists or
 * without. Which keys these are is said by test_nosecret.
 */
#include "kv_verdict.h"

#include "testkeys.h"
#include "testlib.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv_line.h"
#include "kv_log.h"

#define NOW 1700000000
#define LIST_ORACLE "python3 -B tests/oracle/blocklist.py "

/* RSA with an exponent of 1; Ed25519, the neutral element; P-256, G. */
enum { RSA, ED25519, ECDSA, KINDS };
static const char *const sources[KINDS] = { "rsa-exponent", "ed25519-order",
	"ecdsa-generator" };

static struct kv_judge j;
static struct kv_decision d;
static struct testkey open_key[KINDS], sound;

static int
make_keys(void **state)
{
	static const uint8_t one = 1;
	static const uint8_t neutral[KV_ED25519_BYTES] = { 1 };
	static const char g[] =
	    "\x04\x6b\x17\xd1\xf2\xe1\x2c\x42\x47\xf8\xbc\xe6\xe5\x63\xa4\x40"
	    "\xf2\x77\x03\x7d\x81\x2d\xeb\x33\xa0\xf4\xa1\x39\x45\xd8\x98\xc2"
	    "\x96\x4f\xe3\x42\xe2\xfe\x1a\x7f\x9b\x8e\xe7\xeb\x4a\x7c\x0f\x9e"
	    "\x16\x2b\xce\x33\x57\x6b\x31\x5e\xce\xcb\xb6\x40\x68\x37\xbf\x51"
	    "\xf5";
	struct testkey *k = &open_key[RSA];

	test_begin(state);
	testkey_new(&sound, KV_KEY_RSA);
	testkey_rsa_numbers(k, &one, 1, sound.blob.p + sound.blob.len - 256,
	    256);
	k = &open_key[ED25519];
	k->type = KV_KEY_ED25519;
	put_string(&k->fields, neutral, sizeof(neutral));
	k = &open_key[ECDSA];
	k->type = KV_KEY_ECDSA_P256;
	put_text(&k->fields, "nistp256");
	put_string(&k->fields, g, sizeof(g) - 1);
	for (size_t i = ED25519; i < KINDS; i++) {
		put_text(&open_key[i].blob, kv_keytype_name(open_key[i].type));
		put_blob(&open_key[i].blob, &open_key[i].fields);
	}
	testkey_new(&sound, KV_KEY_ED25519);
	return test_cleanup(state);
}

static int
close_judge(void **state)
{
	kv_judge_close(&j);
	return test_cleanup(state);
}

#undef TEST
#define TEST(f) cmocka_unit_test_setup_teardown(f, NULL, close_judge)

static void
configure(const char *text)
{
	kv_judge_close(&j);
	kv_judge_open(&j, tmp_text("keyveto.conf", text), geteuid());
}

/* A filter without keys. */
static const char *
empty_filter(void)
{
	output_of(ORACLE "create %s/empty --hashes 12 --length 18", tmp_dir());
	return tmp_path("empty");
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

/* The key is listed by the built-in list, and by no file. */
static void
expect_built_in(enum kv_action action, const char *source)
{
	expect(KV_VERDICT_LISTED, action);
	assert_ptr_equal(d.list, &kv_built_in);
	assert_string_equal(d.source, source);
	assert_string_equal(d.reason, "");
	assert_true(d.list_hits == 0);
}

static void
expect_log(const char *words)
{
	const struct kv_log_context context = { .via = "guard" };
	char line[KV_LOG_LINE_BYTES];

	kv_log_format(&context, &d, line);
	assert_contains(line, words);
}

static char *
fingerprint_of(const struct testkey *k)
{
	uint8_t digest[KV_SHA256_BYTES];
	char *text = test_alloc(KV_FINGERPRINT_BYTES);

	kv_fingerprint_digest_blob(k->blob.p, k->blob.len, digest);
	kv_fingerprint_format(digest, text);
	return text;
}

static void
a_key_that_needs_no_secret_is_refused(void **state)
{
	(void)state;
	configure(format("Filter %s\n", empty_filter()));
	for (size_t i = 0; i < KINDS; i++) {
		judge(&open_key[i]);
		expect_built_in(KV_ACTION_DENY, sources[i]);
		assert_string_equal(d.fingerprint,
		    fingerprint_of(&open_key[i]));
		assert_null(d.filter);
		expect_log(
		    format("part=key list=built-in source=%s", sources[i]));
	}
	judge(&sound);
	expect(KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_null(d.list);
	assert_string_equal(d.source, "");
}

/* Neither files nor a good configuration are needed. */
static void
it_is_refused_while_nothing_can_be_read(void **state)
{
	static const char *const configurations[] = {
		"OnError allow\nFilter /nonexistent\n",
		"OnError allow\nBlocklist /nonexistent\n",
		"OnError allow\nFilter /nonexistent\nBlocklist /dev/null\n",
		"OnError allow\nNoSuchKeyword\n",
		"OnError allow\nAllowKey nonsense\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(configurations); i++) {
		configure(configurations[i]);
		judge(&sound);
		expect(KV_VERDICT_ERROR, KV_ACTION_ALLOW);
		assert_null(d.list);
		for (size_t k = 0; k < KINDS; k++) {
			judge(&open_key[k]);
			expect_built_in(KV_ACTION_DENY, sources[k]);
		}
	}
	kv_judge_close(&j);
	fail_call("calloc", 1, ENOMEM);
	kv_judge_open(&j, tmp_text("keyveto.conf", "OnError allow\n"),
	    geteuid());
	assert_true(call_has_failed());
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	kv_judge_close(&j);
	kv_judge_open_with(&j, NULL, &(struct kv_paths){ 0 }, NULL, NULL);
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	judge(&sound);
	expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
	assert_string_equal(d.reason, "no filter or list");
}

static void
on_hit_and_allow_key_hold_for_it(void **state)
{
	const char *filter = format("Filter %s\n", empty_filter());

	(void)state;
	configure(format("%sOnHit warn\nOnProbable deny\n", filter));
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_WARN, "rsa-exponent");
	configure(format("%sOnProbable warn\n", filter));
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	configure(format("%sAllowKey %s a test\n", filter,
	    fingerprint_of(&open_key[RSA])));
	judge(&open_key[RSA]);
	expect(KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "a test");
	judge(&open_key[ECDSA]);
	expect_built_in(KV_ACTION_DENY, "ecdsa-generator");
}

/* A configuration with a mistake lets in nobody whom OnError refuses. */
static void
a_mistake_beside_on_hit_or_allow_key_leaves_it_to_on_error(void **state)
{
	const char *lets_in[] = {
		"OnHit warn\n",
		format("AllowKey %s\n", fingerprint_of(&open_key[RSA])),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lets_in); i++) {
		configure(format("%sNoSuchKeyword\n", lets_in[i]));
		judge(&open_key[RSA]);
		expect(KV_VERDICT_ERROR, KV_ACTION_DENY);
		assert_null(d.list);
		assert_contains(d.reason, "NoSuchKeyword");
		assert_string_equal(d.fingerprint,
		    fingerprint_of(&open_key[RSA]));
		configure(
		    format("OnError allow\n%sNoSuchKeyword\n", lets_in[i]));
		judge(&open_key[RSA]);
		expect(KV_VERDICT_ERROR, KV_ACTION_ALLOW);
	}
	/* An AllowKey line counts no more after its date, and only for a key. */
	configure(format("OnError allow\nNoSuchKeyword\n"
			 "AllowKey %s until=2023-11-13\nAllowKey %s\n",
	    fingerprint_of(&open_key[RSA]), fingerprint_of(&sound)));
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
}

static void
both_keys_of_a_certificate_are_judged(void **state)
{
	struct blob b;
	const char *name;

	(void)state;
	configure("OnError allow\nFilter /nonexistent\n");
	for (size_t i = 0; i < KINDS; i++) {
		testcert_new(&b, &open_key[i], &sound);
		name = cert_name_of(kv_keytype_name(open_key[i].type));
		judge_as(name, &b);
		expect_built_in(KV_ACTION_DENY, sources[i]);
		assert_int_equal(d.part, KV_PART_KEY);
		/* A certificate that ends early still has its key. */
		b.len -= 20;
		judge_as(name, &b);
		expect_built_in(KV_ACTION_DENY, sources[i]);
		testcert_new(&b, &sound, &open_key[i]);
		judge_as("ssh-ed25519-cert-v01@openssh.com", &b);
		expect_built_in(KV_ACTION_DENY, sources[i]);
		assert_int_equal(d.part, KV_PART_CA);
		assert_string_equal(d.fingerprint,
		    fingerprint_of(&open_key[i]));
		expect_log("part=ca list=built-in");
	}
}

/* OnUnsupported allow must not let it in under a name that is not known. */
static void
another_name_hides_no_key(void **state)
{
	(void)state;
	configure(format("Filter %s\nOnError allow\n", empty_filter()));
	judge_as("rsa-sha2-512", &open_key[RSA].blob);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	judge_as("ssh-rsa-of-tomorrow", &open_key[RSA].blob);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	judge_as("ssh-ed25519", &open_key[RSA].blob);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
}

/* Filters and lists are asked, too; the built-in list is named. */
static void
it_is_named_before_lists_and_filters(void **state)
{
	const char *keys = tmp_text("keys", testkey_line(&open_key[RSA]));

	(void)state;
	output_of(LIST_ORACLE "create %s/list --id 3 %s", tmp_dir(), keys);
	output_of(ORACLE "create %s/filter --hashes 12 --length 18 %s",
	    tmp_dir(), keys);
	configure(format("Filter %s/filter\nBlocklist %s/list\n", tmp_dir(),
	    tmp_dir()));
	judge(&open_key[RSA]);
	expect(KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_ptr_equal(d.list, &kv_built_in);
	assert_string_equal(d.source, "rsa-exponent");
	assert_true(d.list_hits == 1);
	assert_int_equal(d.source_id[0], 3);
	assert_true(d.hits == 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_key_that_needs_no_secret_is_refused),
		TEST(it_is_refused_while_nothing_can_be_read),
		TEST(on_hit_and_allow_key_hold_for_it),
		TEST(
		    a_mistake_beside_on_hit_or_allow_key_leaves_it_to_on_error),
		TEST(both_keys_of_a_certificate_are_judged),
		TEST(another_name_hides_no_key),
		TEST(it_is_named_before_lists_and_filters),
	};

	return cmocka_run_group_tests(tests, make_keys, NULL);
}
