/* SPDX-License-Identifier: ISC */
/*
 * What becomes of a key that needs no secret, with filters and lists or
 * without. Which keys these are is said by test_nosecret.
 */
#include "testjudge.h"

/* RSA with an exponent of 1; Ed25519, the neutral element; P-256, G. */
enum { RSA, ED25519, ECDSA, KINDS };
static const char *const sources[KINDS] = { "rsa-exponent", "ed25519-order",
	"ecdsa-generator" };

static struct testkey open_key[KINDS], sound;

static void
make_keys(void)
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

TEST_CASE(a_key_that_needs_no_secret_is_refused)
{
	configure("Filter %s\n", filter_of("empty", ""));
	for (size_t i = 0; i < KINDS; i++) {
		judge(&open_key[i]);
		expect_built_in(KV_ACTION_DENY, sources[i]);
		assert_string_equal(d.fingerprint,
		    fingerprint_of(&open_key[i]));
		assert_null(d.filter);
		expect_log(
		    format("part=key list=built-in source=%s", sources[i]));
	}
	expect_of(&sound, KV_VERDICT_CLEAN, KV_ACTION_ALLOW);
	assert_null(d.list);
	assert_string_equal(d.source, "");
}

/* Neither files nor a good configuration are needed. */
TEST_CASE(it_is_refused_while_nothing_can_be_read)
{
	static const char *const configurations[] = {
		"OnError allow\nFilter /nonexistent\n",
		"OnError allow\nBlocklist /nonexistent\n",
		"OnError allow\nFilter /nonexistent\nBlocklist /dev/null\n",
		"OnError allow\nNoSuchKeyword\n",
		"OnError allow\nAllowKey nonsense\n",
	};

	for (size_t i = 0; i < COUNT(configurations); i++) {
		configure("%s", configurations[i]);
		expect_of(&sound, KV_VERDICT_ERROR, KV_ACTION_ALLOW);
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
	expect_of(&sound, KV_VERDICT_ERROR, KV_ACTION_DENY);
	assert_string_equal(d.reason, "no filter or list");
}

TEST_CASE(on_hit_and_allow_key_hold_for_it)
{
	const char *filter = format("Filter %s\n", filter_of("empty", ""));

	configure("%sOnHit warn\nOnProbable deny\n", filter);
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_WARN, "rsa-exponent");
	configure("%sOnProbable warn\n", filter);
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	configure("%sAllowKey %s a test\n", filter,
	    fingerprint_of(&open_key[RSA]));
	expect_of(&open_key[RSA], KV_VERDICT_ALLOWED, KV_ACTION_ALLOW);
	assert_string_equal(d.reason, "a test");
	judge(&open_key[ECDSA]);
	expect_built_in(KV_ACTION_DENY, "ecdsa-generator");
}

/* A configuration with a mistake lets in nobody whom OnError refuses. */
TEST_CASE(a_mistake_beside_on_hit_or_allow_key_leaves_it_to_on_error)
{
	const char *lets_in[] = { "OnHit warn\n",
		format("AllowKey %s\n", fingerprint_of(&open_key[RSA])) };

	for (size_t i = 0; i < COUNT(lets_in); i++) {
		configure("%sNoSuchKeyword\n", lets_in[i]);
		expect_of(&open_key[RSA], KV_VERDICT_ERROR, KV_ACTION_DENY);
		assert_null(d.list);
		assert_contains(d.reason, "NoSuchKeyword");
		assert_string_equal(d.fingerprint,
		    fingerprint_of(&open_key[RSA]));
		configure("OnError allow\n%sNoSuchKeyword\n", lets_in[i]);
		expect_of(&open_key[RSA], KV_VERDICT_ERROR, KV_ACTION_ALLOW);
	}
	/* An AllowKey line counts no more after its date, and only for a key. */
	configure("OnError allow\nNoSuchKeyword\n"
		  "AllowKey %s until=2023-11-13\nAllowKey %s\n",
	    fingerprint_of(&open_key[RSA]), fingerprint_of(&sound));
	judge(&open_key[RSA]);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
}

TEST_CASE(both_keys_of_a_certificate_are_judged)
{
	struct blob b;
	const char *name;

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
TEST_CASE(another_name_hides_no_key)
{
	configure("Filter %s\nOnError allow\n", filter_of("empty", ""));
	judge_as("rsa-sha2-512", &open_key[RSA].blob);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	judge_as("ssh-rsa-of-tomorrow", &open_key[RSA].blob);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
	judge_as("ssh-ed25519", &open_key[RSA].blob);
	expect_built_in(KV_ACTION_DENY, "rsa-exponent");
}

/* Filters and lists are asked, too; the built-in list is named. */
TEST_CASE(it_is_named_before_lists_and_filters)
{
	const char *line = testkey_line(&open_key[RSA]);

	configure("Filter %s\nBlocklist %s\n", filter_of("filter", line),
	    list_of("list", 3, line));
	expect_of(&open_key[RSA], KV_VERDICT_LISTED, KV_ACTION_DENY);
	assert_ptr_equal(d.list, &kv_built_in);
	assert_string_equal(d.source, "rsa-exponent");
	assert_true(d.list_hits == 1);
	assert_int_equal(d.source_id[0], 3);
	assert_true(d.hits == 1);
}

int
main(void)
{
	return run_all_tests(&(struct fixture){ .before_all = make_keys,
	    .after_each = close_judge });
}
