/* SPDX-License-Identifier: ISC */
#include "kv_keytype.h"

#include "testlib.h"

#include <ctype.h>

#define CERT "-cert-v01@openssh.com"

static const struct {
	const char *name, *cert;
	enum kv_keytype type;
} names[] = {
	{ "ssh-rsa", "ssh-rsa" CERT, KV_KEY_RSA },
	{ "rsa-sha2-256", "rsa-sha2-256" CERT, KV_KEY_RSA },
	{ "rsa-sha2-512", "rsa-sha2-512" CERT, KV_KEY_RSA },
	{ "ssh-dss", "ssh-dss" CERT, KV_KEY_DSA },
	{ "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256" CERT,
	    KV_KEY_ECDSA_P256 },
	{ "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384" CERT,
	    KV_KEY_ECDSA_P384 },
	{ "ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521" CERT,
	    KV_KEY_ECDSA_P521 },
	{ "ssh-ed25519", "ssh-ed25519" CERT, KV_KEY_ED25519 },
	{ "ssh-ed448", "ssh-ed448" CERT, KV_KEY_ED448 },
	{ "sk-ssh-ed25519@openssh.com", "sk-ssh-ed25519" CERT,
	    KV_KEY_SK_ED25519 },
	{ "sk-ecdsa-sha2-nistp256@openssh.com", "sk-ecdsa-sha2-nistp256" CERT,
	    KV_KEY_SK_ECDSA_P256 },
	{ "webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
	    "webauthn-sk-ecdsa-sha2-nistp256" CERT, KV_KEY_SK_ECDSA_P256 },
	{ "ssh-mldsa44-ed25519", "ssh-mldsa44-ed25519-cert",
	    KV_KEY_MLDSA44_ED25519 },
	{ "ssh-mldsa44-ed25519@openssh.com", "ssh-mldsa44-ed25519" CERT,
	    KV_KEY_MLDSA44_ED25519_OLD },
};

static void
assert_known(const char *name, enum kv_keytype type, bool is_cert)
{
	const struct kv_keyname *kn = kv_keyname_find(span_of(name));
	bool any_curve = true;

	assert_non_null(kn);
	assert_string_equal(kn->name, name);
	assert_int_equal(kn->type, type);
	assert_int_equal(kn->is_cert, is_cert);
	/* The name means the same inside a blob. */
	assert_ptr_equal(kv_keyname_find_in_blob(span_of(name), &any_curve),
	    kn);
	assert_false(any_curve);
	assert_true(strlen(name) < KV_KEYTYPE_NAME_BYTES);
}

static void
assert_unknown(const char *name, size_t len)
{
	struct kv_span s = { exact_copy(name, len), len };

	if (kv_keyname_find(s) != NULL)
		fail_msg("known: %s", name);
}

TEST_CASE(every_name_is_known)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_known(names[i].name, names[i].type, false);
		assert_known(names[i].cert, names[i].type, true);
	}
}

TEST_CASE(names_are_exact)
{
	for (size_t i = 0; i < COUNT(names); i++) {
		size_t len = strlen(names[i].name);
		char *other = format("%s", names[i].name);

		assert_unknown(other, len - 1);
		assert_unknown(other, len + 1); /* the NUL */
		assert_unknown(format("%s ", other), len + 1);
		for (size_t j = 0; j < len; j++) {
			if (!islower(other[j]))
				continue;
			other[j] = (char)toupper(other[j]);
			assert_unknown(other, len);
			other[j] = names[i].name[j];
		}
	}
	assert_unknown("", 0);
	assert_unknown("ssh-foo", 7);
	assert_unknown("sk-ssh-ed25519", 14);
}

TEST_CASE(short_names_are_none_outside_a_blob)
{
	assert_unknown("RSA", 3);
	assert_unknown("ECDSA", 5);
	assert_unknown("ED25519", 7);
}

static void
assert_short(const char *name, enum kv_keytype type, bool want_any_curve)
{
	bool any_curve = !want_any_curve;
	const struct kv_keyname *kn = kv_keyname_find_in_blob(span_of(name),
	    &any_curve);

	assert_non_null(kn);
	assert_int_equal(kn->type, type);
	assert_false(kn->is_cert);
	assert_int_equal(any_curve, want_any_curve);
}

TEST_CASE(short_names_in_a_blob_have_any_case)
{
	assert_short("RSA", KV_KEY_RSA, false);
	assert_short("rsa", KV_KEY_RSA, false);
	assert_short("rSa", KV_KEY_RSA, false);
	assert_short("DSA", KV_KEY_DSA, false);
	assert_short("dsa", KV_KEY_DSA, false);
	assert_short("ECDSA", KV_KEY_ECDSA_P256, true);
	assert_short("Ecdsa", KV_KEY_ECDSA_P256, true);
	assert_short("ED25519", KV_KEY_ED25519, false);
	assert_short("eD25519", KV_KEY_ED25519, false);
	assert_short("ED25519-SK", KV_KEY_SK_ED25519, false);
	assert_short("ed25519-sk", KV_KEY_SK_ED25519, false);
	assert_short("ECDSA-SK", KV_KEY_SK_ECDSA_P256, false);
	assert_short("ecdsa-sk", KV_KEY_SK_ECDSA_P256, false);
}

TEST_CASE(other_names_in_a_blob_are_unknown)
{
	static const char *const unknown[] = { "", "R", "RS", "RSAA",
		"RSA-CERT", "rsa-cert", "ED25519-CERT", "RSA ", "SSH-RSA",
		"ssh-rsa1", "NULL" };
	bool any_curve;

	for (size_t i = 0; i < COUNT(unknown); i++) {
		size_t len = strlen(unknown[i]);
		struct kv_span s = { exact_copy(unknown[i], len), len };

		any_curve = true;
		assert_null(kv_keyname_find_in_blob(s, &any_curve));
		assert_false(any_curve);
	}
}

TEST_CASE(canonical_names_name_their_type)
{
	for (int t = KV_KEY_RSA; t <= KV_KEY_MLDSA44_ED25519_OLD; t++) {
		const char *name = kv_keytype_name((enum kv_keytype)t);
		const struct kv_keyname *kn = kv_keyname_find(span_of(name));

		assert_non_null(kn);
		assert_int_equal(kn->type, t);
		assert_false(kn->is_cert);
	}
	assert_string_equal(kv_keytype_name(KV_KEY_NONE), "");
	assert_string_equal(kv_keytype_name(KV_KEY_RSA), "ssh-rsa");
	assert_string_equal(kv_keytype_name(KV_KEY_SK_ECDSA_P256),
	    "sk-ecdsa-sha2-nistp256@openssh.com");
}

TEST_CASE(curves_have_names_and_point_sizes)
{
	static const struct {
		enum kv_keytype type;
		const char *curve;
		size_t point;
	} curves[] = {
		{ KV_KEY_ECDSA_P256, "nistp256", 65 },
		{ KV_KEY_ECDSA_P384, "nistp384", 97 },
		{ KV_KEY_ECDSA_P521, "nistp521", 133 },
		{ KV_KEY_SK_ECDSA_P256, "nistp256", 65 },
	};
	static const enum kv_keytype others[] = { KV_KEY_NONE, KV_KEY_RSA,
		KV_KEY_DSA, KV_KEY_ED25519, KV_KEY_ED448, KV_KEY_SK_ED25519,
		KV_KEY_MLDSA44_ED25519, KV_KEY_MLDSA44_ED25519_OLD };

	for (size_t i = 0; i < COUNT(curves); i++) {
		assert_string_equal(kv_keytype_curve(curves[i].type),
		    curves[i].curve);
		assert_int_equal(kv_keytype_point_bytes(curves[i].type),
		    curves[i].point);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		assert_null(kv_keytype_curve(others[i]));
		assert_int_equal(kv_keytype_point_bytes(others[i]), 0);
	}
}

/* A type that the local sshd knows must never be "unsupported". */
TEST_CASE(every_name_of_the_local_ssh_is_known)
{
	char *text = output_of("ssh -Q key; ssh -Q sig"), *save = NULL;
	size_t n = 0;

	for (char *name = strtok_r(text, "\n", &save); name != NULL;
	     name = strtok_r(NULL, "\n", &save), n++) {
		if (kv_keyname_find(span_of(name)) == NULL)
			fail_msg("unknown: %s", name);
	}
	assert_true(n > 10);
}
