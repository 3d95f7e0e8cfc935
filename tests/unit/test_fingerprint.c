/* SPDX-License-Identifier: ISC */
#include "kv_fingerprint.h"

#include "testkeys.h"
#include "testlib.h"

#include <stdlib.h>
#include <string.h>

#include <libssh/libssh.h>
#include <openssl/evp.h>

#define FIRST_TYPE KV_KEY_RSA
#define LAST_TYPE KV_KEY_MLDSA44_ED25519_OLD

/* Printed by ssh-keygen -l for the example keys. */
#define RSA_FINGERPRINT "SHA256:ckGCtrmftobnfcWdeQsHFxFmuqpWjN4sY82+nSydOfQ"
#define EC_FINGERPRINT "SHA256:K53UMHTBXbpvt4AJATggaF7h01viQrVV5tYANT9vpPs"

static struct testkey k, ca;
static struct blob b;

static void
parse(const struct blob *blob, struct kv_sshkey *key)
{
	assert_err(kv_sshkey_parse(exact_copy(blob->p, blob->len), blob->len,
		       key),
	    KV_OK);
}

static char *
fingerprint_of(const struct kv_pubkey *key)
{
	uint8_t digest[KV_SHA256_BYTES];
	char *text = test_alloc(KV_FINGERPRINT_BYTES);

	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, text);
	return text;
}

/* The definition: unpadded base64 of the canonical blob's SHA-256. */
static char *
expected(const struct testkey *key)
{
	uint8_t digest[32];
	char *text;

	assert_int_equal(EVP_Digest(key->blob.p, key->blob.len, digest, NULL,
			     EVP_sha256(), NULL),
	    1);
	text = base64_of(digest, sizeof(digest));
	text[43] = '\0';
	return format("SHA256:%s", text);
}

static void
fingerprint_is_the_digest_of_the_canonical_blob(void **state)
{
	struct kv_sshkey key;

	(void)state;
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		for (int i = 0; i < 20; i++) {
			testkey_new(&k, (enum kv_keytype)t);
			parse(&k.blob, &key);
			assert_string_equal(fingerprint_of(&key.key),
			    expected(&k));
		}
	}
}

static void
rsa_of_odd_sizes_has_its_fingerprint(void **state)
{
	struct kv_sshkey key;

	(void)state;
	for (size_t bits = 1017; bits < 1033; bits++) {
		testkey_rsa(&k, bits);
		parse(&k.blob, &key);
		assert_string_equal(fingerprint_of(&key.key), expected(&k));
	}
	testkey_rsa(&k, 16384);
	parse(&k.blob, &key);
	assert_string_equal(fingerprint_of(&key.key), expected(&k));
}

static void
keys_in_a_certificate_have_the_fingerprints_of_plain_keys(void **state)
{
	struct kv_sshkey key;

	(void)state;
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		testkey_new(&ca, (enum kv_keytype)(FIRST_TYPE + LAST_TYPE - t));
		testcert_new(&b, &k, &ca);
		parse(&b, &key);
		assert_string_equal(fingerprint_of(&key.key), expected(&k));
		assert_string_equal(fingerprint_of(&key.ca), expected(&ca));
	}
}

static void
odd_encodings_have_the_same_fingerprint(void **state)
{
	struct kv_sshkey key;
	size_t e_len;

	(void)state;
	testkey_new(&k, KV_KEY_RSA);
	e_len = k.fields.p[3];
	b.len = 0;
	put_text(&b, "rSA");
	put_padded(&b, k.fields.p + 4, e_len, 100);
	put_padded(&b, k.fields.p + 8 + e_len, 257, 200);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.key), expected(&k));

	testkey_new(&k, KV_KEY_ECDSA_P521);
	b.len = 0;
	put_string(&b, "ECDSA\0", 6);
	put_string(&b, "nistp521\0", 9);
	put(&b, k.fields.p + 12, k.fields.len - 12);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.key), expected(&k));
}

/* Each byte of a length counts. */
static void
application_may_be_longer_than_64_kib(void **state)
{
	static const size_t lens[] = { 255, 256, 32768, 65536, 16777216 };
	const char *name = "sk-ssh-ed25519@openssh.com";

	(void)state;
	for (size_t i = 0; i < COUNT(lens); i++) {
		size_t n = lens[i], at = 4 + strlen(name) + 4 + 32;
		uint8_t *blob = test_alloc(at + 4 + n);
		uint8_t digest[KV_SHA256_BYTES], want[KV_SHA256_BYTES];
		const struct kv_pubkey key = {
			.type = KV_KEY_SK_ED25519,
			.field = { { blob + at - 32, 32 } },
			.application = { blob + at + 4, n },
		};

		blob[3] = (uint8_t)strlen(name);
		memcpy(blob + 4, name, strlen(name));
		blob[at - 33] = 32;
		memset(blob + at - 32, 'k', 32);
		for (size_t byte = 0; byte < 4; byte++)
			blob[at + byte] = (uint8_t)(n >> (24 - 8 * byte));
		memset(blob + at + 4, 'a', n);
		kv_fingerprint_digest(&key, digest);
		kv_fingerprint_digest_blob(blob, at + 4 + n, want);
		assert_memory_equal(digest, want, sizeof(want));
	}
}

/* What stands behind a number of no bytes is none of it. */
static void
zero_has_no_top_bit(void **state)
{
	static const uint8_t high = 0x80, low = 0;
	struct kv_pubkey dsa = { .type = KV_KEY_DSA };
	uint8_t one[KV_SHA256_BYTES], other[KV_SHA256_BYTES];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		dsa.field[i] = (struct kv_span){ &high, 0 };
	kv_fingerprint_digest(&dsa, one);
	for (size_t i = 0; i < 4; i++)
		dsa.field[i] = (struct kv_span){ &low, 0 };
	kv_fingerprint_digest(&dsa, other);
	assert_memory_equal(one, other, sizeof(one));
	/* Nor has it any other bit. */
	assert_int_equal(kv_pubkey_bits(&dsa), 0);
}

static void
application_of_a_security_key_counts(void **state)
{
	struct kv_sshkey key;
	char *first;

	(void)state;
	testkey_new(&ca, KV_KEY_ED25519);
	testkey_sk(&k, &ca, "ssh:");
	parse(&k.blob, &key);
	first = fingerprint_of(&key.key);
	testkey_sk(&k, &ca, "ssh:other");
	parse(&k.blob, &key);
	assert_string_not_equal(fingerprint_of(&key.key), first);
	assert_string_equal(fingerprint_of(&key.key), expected(&k));
}

static void
example_keys_have_their_known_fingerprints(void **state)
{
	struct kv_sshkey key;

	(void)state;
	blob_of_line(rsa_line, &b);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.key), RSA_FINGERPRINT);
	blob_of_line(ec_line, &b);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.key), EC_FINGERPRINT);
}

static void
keys_of_openssh_10_6_have_its_fingerprint_and_bits(void **state)
{
	static const char *const names[] = { "composite", "composite-cert" };
	struct kv_sshkey key;

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		blob_of_line(line_of_openssh_10_6(names[i]), &b);
		parse(&b, &key);
		assert_int_equal(key.key.type, KV_KEY_MLDSA44_ED25519);
		assert_int_equal(key.is_cert, i == 1);
		assert_string_equal(fingerprint_of(&key.key),
		    COMPOSITE_FINGERPRINT);
		assert_int_equal(kv_pubkey_bits(&key.key), COMPOSITE_BITS);
	}
	blob_of_line(line_of_openssh_10_6("plain-cert"), &b);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.ca), COMPOSITE_FINGERPRINT);
}

static char *
libssh_fingerprint(enum ssh_keytypes_e type, const struct blob *blob)
{
	unsigned char *hash = NULL;
	size_t len;
	ssh_key key = NULL;
	char *text, *kept;

	assert_int_equal(ssh_pki_import_pubkey_base64(
			     base64_of(blob->p, blob->len), type, &key),
	    SSH_OK);
	assert_int_equal(ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256,
			     &hash, &len),
	    0);
	text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
	kept = format("%s", text);
	ssh_string_free_char(text);
	ssh_clean_pubkey_hash(&hash);
	ssh_key_free(key);
	return kept;
}

static void
libssh_agrees(void **state)
{
	static const struct {
		enum kv_keytype type;
		enum ssh_keytypes_e libssh;
	} types[] = {
		{ KV_KEY_RSA, SSH_KEYTYPE_RSA },
		{ KV_KEY_ED25519, SSH_KEYTYPE_ED25519 },
		{ KV_KEY_ECDSA_P256, SSH_KEYTYPE_ECDSA_P256 },
		{ KV_KEY_ECDSA_P384, SSH_KEYTYPE_ECDSA_P384 },
		{ KV_KEY_ECDSA_P521, SSH_KEYTYPE_ECDSA_P521 },
		{ KV_KEY_SK_ED25519, SSH_KEYTYPE_SK_ED25519 },
		{ KV_KEY_SK_ECDSA_P256, SSH_KEYTYPE_SK_ECDSA },
	};
	struct kv_sshkey key;

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		testkey_new(&k, types[i].type);
		parse(&k.blob, &key);
		assert_string_equal(fingerprint_of(&key.key),
		    libssh_fingerprint(types[i].libssh, &k.blob));
	}
}

/* "BITS SHA256:... comment (TYPE)" */
static void
assert_keygen_says(const struct testkey *want)
{
	struct kv_sshkey key;
	char *says;

	parse(&want->blob, &key);
	says = output_of("ssh-keygen -lf %s",
	    tmp_text("k.pub", testkey_line(want)));
	assert_contains(says,
	    format("%u %s no comment", kv_pubkey_bits(&key.key),
		fingerprint_of(&key.key)));
}

static void
ssh_keygen_agrees_on_fingerprint_and_bits(void **state)
{
	static const size_t bits[] = { 1024, 1031, 2047, 4096, 16384 };
	static const enum kv_keytype types[] = {
		KV_KEY_RSA,
		KV_KEY_ED25519,
		KV_KEY_ECDSA_P256,
		KV_KEY_ECDSA_P384,
		KV_KEY_ECDSA_P521,
		KV_KEY_SK_ED25519,
		KV_KEY_SK_ECDSA_P256,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		testkey_new(&k, types[i]);
		assert_keygen_says(&k);
	}
	for (size_t i = 0; i < COUNT(bits); i++) {
		testkey_rsa(&k, bits[i]);
		assert_keygen_says(&k);
	}
}

static void
digest_of_a_blob_is_its_sha256(void **state)
{
	uint8_t digest[KV_SHA256_BYTES];

	(void)state;
	kv_fingerprint_digest_blob((const uint8_t *)"abc", 3, digest);
	assert_string_equal(hex_of(digest, sizeof(digest)),
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad");
	kv_fingerprint_digest_blob(NULL, 0, digest);
	assert_string_equal(hex_of(digest, sizeof(digest)),
	    "e3b0c44298fc1c149afbf4c8996fb924"
	    "27ae41e4649b934ca495991b7852b855");
}

static void
text_reads_back(void **state)
{
	uint8_t digest[KV_SHA256_BYTES], again[KV_SHA256_BYTES];
	char text[KV_FINGERPRINT_BYTES];

	(void)state;
	for (int i = 0; i < 500; i++) {
		fresh_bytes(digest, sizeof(digest));
		kv_fingerprint_format(digest, text);
		assert_int_equal(strlen(text), sizeof(text) - 1);
		assert_err(kv_fingerprint_parse(span_of(text), again), KV_OK);
		assert_memory_equal(again, digest, sizeof(digest));
	}
}

static void
refused(const char *text)
{
	uint8_t digest[KV_SHA256_BYTES];
	size_t len = strlen(text);
	struct kv_span s = { exact_copy(text, len), len };

	if (kv_fingerprint_parse(s, digest) != KV_ERR_BASE64)
		fail_msg("not refused: %s", text);
}

static void
other_texts_are_refused(void **state)
{
	const char *good = RSA_FINGERPRINT;
	char *bad;

	(void)state;
	refused("");
	refused("SHA256:");
	refused(good + 7);
	refused(format("%s=", good));
	refused(format(" %s", good));
	refused(format("%sA", good));
	refused(format("%.*s", KV_FINGERPRINT_BYTES - 2, good));
	refused(format("sha256:%s", good + 7));
	refused(format("SHA512:%s", good + 7));
	refused(format("MD5:ab:%s", good + 7));
	/* Texts as long as a digest with blanks, padding or spare bits. */
	refused(format("SHA256: %.42s", good + 7));
	refused(format("SHA256:    %.38sA", good + 7));
	refused(format("SHA256:%.42s=", good + 7));
	refused(format("SHA256:%.42s-", good + 7));
	bad = format("%s", good);
	for (const char *c = "BCDFGHJ/+"; *c != '\0'; c++) {
		bad[KV_FINGERPRINT_BYTES - 2] = *c;
		refused(bad);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(fingerprint_is_the_digest_of_the_canonical_blob),
		TEST(rsa_of_odd_sizes_has_its_fingerprint),
		TEST(keys_in_a_certificate_have_the_fingerprints_of_plain_keys),
		TEST(odd_encodings_have_the_same_fingerprint),
		TEST(application_may_be_longer_than_64_kib),
		TEST(zero_has_no_top_bit),
		TEST(application_of_a_security_key_counts),
		TEST(example_keys_have_their_known_fingerprints),
		TEST(keys_of_openssh_10_6_have_its_fingerprint_and_bits),
		TEST(libssh_agrees),
		TEST(ssh_keygen_agrees_on_fingerprint_and_bits),
		TEST(digest_of_a_blob_is_its_sha256),
		TEST(text_reads_back),
		TEST(other_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, test_begin, NULL);
}
