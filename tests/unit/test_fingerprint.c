/* SPDX-License-Identifier: ISC */
#include "kv_fingerprint.h"

#include "testkeys.h"
#include "testlib.h"

#include <libssh/libssh.h>
#include <openssl/evp.h>

static struct testkey k, ca;
static struct blob b;

static void
parse(const struct blob *blob, struct kv_sshkey *key)
{
	assert_ok(
	    kv_sshkey_parse(exact_copy(blob->p, blob->len), blob->len, key));
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

/* The key in this blob has the fingerprint of k. */
static void
assert_fingerprint_in(const struct blob *blob)
{
	struct kv_sshkey key;

	parse(blob, &key);
	assert_string_equal(fingerprint_of(&key.key), expected(&k));
}

TEST_CASE(fingerprint_is_the_digest_of_the_canonical_blob)
{
	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		for (int i = 0; i < 20; i++) {
			testkey_new(&k, (enum kv_keytype)t);
			assert_fingerprint_in(&k.blob);
		}
	}
}

TEST_CASE(rsa_of_odd_sizes_has_its_fingerprint)
{
	for (size_t bits = 1017; bits < 1033; bits++) {
		testkey_rsa(&k, bits);
		assert_fingerprint_in(&k.blob);
	}
	testkey_rsa(&k, 16384);
	assert_fingerprint_in(&k.blob);
}

TEST_CASE(keys_in_a_certificate_have_the_fingerprints_of_plain_keys)
{
	struct kv_sshkey key;

	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		testkey_new(&ca, (enum kv_keytype)(FIRST_TYPE + LAST_TYPE - t));
		testcert_new(&b, &k, &ca);
		parse(&b, &key);
		assert_string_equal(fingerprint_of(&key.key), expected(&k));
		assert_string_equal(fingerprint_of(&key.ca), expected(&ca));
	}
}

TEST_CASE(odd_encodings_have_the_same_fingerprint)
{
	size_t e_len;

	testkey_new(&k, KV_KEY_RSA);
	e_len = k.fields.p[3];
	b.len = 0;
	put_text(&b, "rSA");
	put_padded(&b, k.fields.p + 4, e_len, 100);
	put_padded(&b, k.fields.p + 8 + e_len, 257, 200);
	assert_fingerprint_in(&b);

	testkey_new(&k, KV_KEY_ECDSA_P521);
	b.len = 0;
	put_string(&b, "ECDSA\0", 6);
	put_string(&b, "nistp521\0", 9);
	put(&b, k.fields.p + 12, k.fields.len - 12);
	assert_fingerprint_in(&b);
}

/* Each byte of a length counts. */
TEST_CASE(application_may_be_longer_than_64_kib)
{
	static const size_t lens[] = { 255, 256, 32768, 65536, 16777216 };
	const char *name = "sk-ssh-ed25519@openssh.com";

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
TEST_CASE(zero_has_no_top_bit)
{
	static const uint8_t high = 0x80, low = 0;
	struct kv_pubkey dsa = { .type = KV_KEY_DSA };
	uint8_t one[KV_SHA256_BYTES], other[KV_SHA256_BYTES];

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

TEST_CASE(application_of_a_security_key_counts)
{
	struct kv_sshkey key;
	char *first;

	testkey_new(&ca, KV_KEY_ED25519);
	testkey_sk(&k, &ca, "ssh:");
	parse(&k.blob, &key);
	first = fingerprint_of(&key.key);
	testkey_sk(&k, &ca, "ssh:other");
	parse(&k.blob, &key);
	assert_string_not_equal(fingerprint_of(&key.key), first);
	assert_string_equal(fingerprint_of(&key.key), expected(&k));
}

TEST_CASE(example_keys_have_their_known_fingerprints)
{
	struct kv_sshkey key;

	blob_of_line(rsa_line, &b);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.key), RSA_FP);
	blob_of_line(ec_line, &b);
	parse(&b, &key);
	assert_string_equal(fingerprint_of(&key.key), EC_FP);
}

TEST_CASE(keys_of_openssh_10_6_have_its_fingerprint_and_bits)
{
	static const char *const names[] = { "composite", "composite-cert" };
	struct kv_sshkey key;

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

TEST_CASE(libssh_agrees)
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

TEST_CASE(ssh_keygen_agrees_on_fingerprint_and_bits)
{
	static const size_t bits[] = { 1024, 1031, 2047, 4096, 16384 };
	static const enum kv_keytype types[] = { KV_KEY_RSA, KV_KEY_ED25519,
		KV_KEY_ECDSA_P256, KV_KEY_ECDSA_P384, KV_KEY_ECDSA_P521,
		KV_KEY_SK_ED25519, KV_KEY_SK_ECDSA_P256 };

	for (size_t i = 0; i < COUNT(types); i++) {
		testkey_new(&k, types[i]);
		assert_keygen_says(&k);
	}
	for (size_t i = 0; i < COUNT(bits); i++) {
		testkey_rsa(&k, bits[i]);
		assert_keygen_says(&k);
	}
}

TEST_CASE(digest_of_a_blob_is_its_sha256)
{
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest_blob((const uint8_t *)"abc", 3, digest);
	assert_string_equal(hex_of(digest, sizeof(digest)),
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	kv_fingerprint_digest_blob(NULL, 0, digest);
	assert_string_equal(hex_of(digest, sizeof(digest)),
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE(text_reads_back)
{
	uint8_t digest[KV_SHA256_BYTES], again[KV_SHA256_BYTES];
	char text[KV_FINGERPRINT_BYTES];

	for (int i = 0; i < 500; i++) {
		fresh_bytes(digest, sizeof(digest));
		kv_fingerprint_format(digest, text);
		assert_int_equal(strlen(text), sizeof(text) - 1);
		assert_ok(kv_fingerprint_parse(span_of(text), again));
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

TEST_CASE(other_texts_are_refused)
{
	const char *good = RSA_FP;
	char *bad;

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
