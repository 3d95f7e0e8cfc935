/* SPDX-License-Identifier: ISC */
#include "kv_spki.h"

#include "testkeys.h"
#include "testlib.h"

#include <openssl/evp.h>

#define LONGEST_INTEGER 2049

static struct testkey k, ca;
static struct blob b;

static void
parse(const struct blob *blob, struct kv_sshkey *key)
{
	assert_ok(
	    kv_sshkey_parse(exact_copy(blob->p, blob->len), blob->len, key));
}

/* The key has exactly the SPKIs of want, by their indices. */
static void
assert_spkis(const struct kv_pubkey *key, const struct testkey *want)
{
	uint8_t out[KV_SPKI_MAX_BYTES];
	size_t len;

	assert_int_equal(kv_spki_count(key), want->n_spki);
	for (size_t i = 0; i < want->n_spki; i++) {
		assert_ok(kv_spki_encode(key, i, out, sizeof(out), &len));
		assert_bytes(out, len, want->spki[i].p, want->spki[i].len);
	}
	assert_err(kv_spki_encode(key, want->n_spki, out, sizeof(out), &len),
	    KV_ERR_INTERNAL);
}

static void
assert_compressed(const struct kv_pubkey *key, const struct testkey *want)
{
	uint8_t out[KV_SPKI_MAX_BYTES];
	size_t len;
	enum kv_err r = kv_spki_encode_compressed(key, out, sizeof(out), &len);

	if (want->compressed.len == 0) {
		assert_err(r, KV_ERR_NO_POINT);
		assert_int_equal(len, 0);
		return;
	}
	assert_ok(r);
	assert_bytes(out, len, want->compressed.p, want->compressed.len);
}

static void
assert_as_openssl(const struct testkey *want)
{
	struct kv_sshkey key;

	parse(&want->blob, &key);
	assert_spkis(&key.key, want);
	assert_compressed(&key.key, want);
}

/* A new key of this type. */
static void
new_key_is_as_openssl_has_it(enum kv_keytype type)
{
	testkey_new(&k, type);
	assert_as_openssl(&k);
}

TEST_CASE(elliptic_curve_keys_are_as_openssl_has_them)
{
	for (int i = 0; i < 100; i++) {
		new_key_is_as_openssl_has_it(KV_KEY_ECDSA_P256);
		new_key_is_as_openssl_has_it(KV_KEY_ECDSA_P384);
		new_key_is_as_openssl_has_it(KV_KEY_ECDSA_P521);
	}
}

TEST_CASE(edwards_curve_keys_are_as_openssl_has_them)
{
	for (int i = 0; i < 50; i++) {
		new_key_is_as_openssl_has_it(KV_KEY_ED25519);
		new_key_is_as_openssl_has_it(KV_KEY_ED448);
	}
}

TEST_CASE(rsa_keys_of_every_size_are_as_openssl_has_them)
{
	for (size_t bits = 1; bits <= 80; bits++) {
		testkey_rsa(&k, bits);
		assert_as_openssl(&k);
	}
	for (size_t bits = 960; bits <= 1100; bits++) {
		testkey_rsa(&k, bits);
		assert_as_openssl(&k);
	}
	for (size_t bits = 1111; bits <= 16384; bits += 389) {
		testkey_rsa(&k, bits);
		assert_as_openssl(&k);
	}
	testkey_rsa(&k, 16383);
	assert_as_openssl(&k);
	testkey_rsa(&k, 16384);
	assert_as_openssl(&k);
}

/* At these sizes DER lengths change their form, or a zero byte is added. */
TEST_CASE(rsa_lengths_around_128_and_256_are_as_openssl_has_them)
{
	uint8_t n[2048], e[2048];

	fresh_bytes(n, sizeof(n));
	fresh_bytes(e, sizeof(e));
	for (size_t len = 90; len < 270; len++) {
		n[0] = len % 2 == 0 ? 0x80 : 0x7f;
		e[0] = len % 3 == 0 ? 0x80 : 0x01;
		testkey_rsa_numbers(&k, e, 1 + len % 7, n, len);
		assert_as_openssl(&k);
		testkey_rsa_numbers(&k, e, len, n, 128);
		assert_as_openssl(&k);
	}
	memset(n, 0xff, sizeof(n));
	testkey_rsa_numbers(&k, n, sizeof(n), n, sizeof(n));
	assert_as_openssl(&k);
	n[0] = 0x80;
	memset(n + 1, 0, sizeof(n) - 1);
	testkey_rsa_numbers(&k, n, 1, n, sizeof(n));
	assert_as_openssl(&k);
}

TEST_CASE(rsa_exponent_of_zero_is_as_openssl_has_it)
{
	static const uint8_t n[] = { 0x23 };

	testkey_rsa_numbers(&k, n, 0, n, 1);
	assert_as_openssl(&k);
}

TEST_CASE(dsa_keys_are_as_openssl_has_them)
{
	static const size_t bits[][2] = {
		{ 512, 160 },
		{ 1024, 160 },
		{ 1023, 159 },
		{ 1025, 161 },
		{ 2048, 224 },
		{ 2048, 256 },
		{ 3072, 256 },
		{ 8, 8 },
		{ 7, 3 },
		{ 127, 64 },
		{ 16384, 256 },
		{ 16384, 16384 },
	};

	for (size_t i = 0; i < COUNT(bits); i++) {
		for (int j = 0; j < 8; j++) {
			testkey_dsa(&k, bits[i][0], bits[i][1]);
			assert_as_openssl(&k);
		}
	}
}

TEST_CASE(security_keys_have_the_spki_of_the_plain_key)
{
	for (int i = 0; i < 10; i++) {
		new_key_is_as_openssl_has_it(KV_KEY_SK_ED25519);
		new_key_is_as_openssl_has_it(KV_KEY_SK_ECDSA_P256);
		testkey_new(&ca, KV_KEY_ECDSA_P256);
		testkey_sk(&k, &ca, "ssh:something else");
		assert_as_openssl(&k);
	}
}

TEST_CASE(composite_key_has_its_own_spki_and_those_of_its_halves)
{
	for (int i = 0; i < 10; i++) {
		testkey_new(&k, KV_KEY_MLDSA44_ED25519);
		assert_int_equal(k.n_spki, 3);
		assert_as_openssl(&k);
	}
}

TEST_CASE(padding_does_not_show)
{
	struct kv_sshkey key;

	for (size_t pad = 0; pad < 1000; pad += 111) {
		const uint8_t *p;

		testkey_new(&k, KV_KEY_RSA);
		p = k.fields.p + 4 + k.fields.p[3];
		b.len = 0;
		put_text(&b, "RSA");
		put_padded(&b, k.fields.p + 4, k.fields.p[3], pad);
		put_padded(&b, p + 4, 257, LONGEST_INTEGER - 257 - pad);
		parse(&b, &key);
		assert_spkis(&key.key, &k);
	}
}

TEST_CASE(both_keys_of_a_certificate_are_as_openssl_has_them)
{
	struct kv_sshkey key;

	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		testkey_new(&ca, (enum kv_keytype)(FIRST_TYPE + LAST_TYPE - t));
		testcert_new(&b, &k, &ca);
		parse(&b, &key);
		assert_spkis(&key.key, &k);
		assert_spkis(&key.ca, &ca);
		assert_compressed(&key.key, &k);
		assert_compressed(&key.ca, &ca);
	}
}

TEST_CASE(example_keys_have_their_published_spki)
{
	uint8_t out[KV_SPKI_MAX_BYTES];
	struct kv_sshkey key;
	size_t len;

	blob_of_line(rsa_line, &b);
	parse(&b, &key);
	assert_ok(kv_spki_encode(&key.key, 0, out, sizeof(out), &len));
	assert_sha256(out, len,
	    "9e03b56749abe821a6f5299d6f634b35404975f0552eb3347bf3adfad9af1109");
	blob_of_line(ec_line, &b);
	parse(&b, &key);
	assert_ok(kv_spki_encode(&key.key, 0, out, sizeof(out), &len));
	assert_sha256(out, len,
	    "819f7d1dcd9f07bfcb59b7699f68994d89390c3bcd498cf7fb2e1ef3d272b89b");
	assert_ok(kv_spki_encode_compressed(&key.key, out, sizeof(out), &len));
	assert_sha256(out, len,
	    "316194405bf1c56c3395c4b6fcf32af83ca0e273fbf0832ef8364069a178ad75");
}

TEST_CASE(spki_that_does_not_fit_is_refused)
{
	struct kv_sshkey key;
	size_t len;

	for (int t = FIRST_TYPE; t <= LAST_TYPE; t++) {
		testkey_new(&k, (enum kv_keytype)t);
		parse(&k.blob, &key);
		for (size_t i = 0; i < k.n_spki; i++) {
			size_t need = k.spki[i].len;

			for (size_t cap = 0; cap < need; cap++) {
				uint8_t *out = malloc(cap);

				len = 1;
				assert_err(kv_spki_encode(&key.key, i, out, cap,
					       &len),
				    KV_ERR_NO_SPACE);
				assert_int_equal(len, 0);
				free(out);
			}
			assert_ok(kv_spki_encode(&key.key, i, test_alloc(need),
			    need, &len));
			assert_int_equal(len, need);
		}
	}
}

TEST_CASE(compressed_spki_that_does_not_fit_is_refused)
{
	struct kv_sshkey key;
	size_t len;

	testkey_new(&k, KV_KEY_ECDSA_P521);
	parse(&k.blob, &key);
	for (size_t cap = 0; cap <= k.compressed.len; cap++)
		assert_err(kv_spki_encode_compressed(&key.key,
			       exact_copy(k.blob.p, cap), cap, &len),
		    cap < k.compressed.len ? KV_ERR_NO_SPACE : KV_OK);
}

/* A DSA key of four integers of full length needs the most space. */
TEST_CASE(longest_key_fits)
{
	uint8_t out[KV_SPKI_MAX_BYTES], number[2048];
	struct kv_sshkey key;
	size_t len;

	memset(number, 0xff, sizeof(number));
	b.len = 0;
	put_text(&b, "ssh-dss");
	for (int i = 0; i < 4; i++)
		put_padded(&b, number, sizeof(number), 1);
	parse(&b, &key);
	assert_ok(kv_spki_encode(&key.key, 0, out, sizeof(out), &len));
	assert_true(len > 4 * LONGEST_INTEGER);
}

TEST_CASE(no_key_has_no_spki)
{
	const struct kv_pubkey none = { 0 };
	uint8_t out[KV_SPKI_MAX_BYTES];
	size_t len = 1;

	assert_int_equal(kv_spki_count(&none), 0);
	assert_err(kv_spki_encode(&none, 0, out, sizeof(out), &len),
	    KV_ERR_INTERNAL);
	assert_int_equal(len, 0);
	assert_err(kv_spki_encode_compressed(&none, out, sizeof(out), &len),
	    KV_ERR_NO_POINT);
}

/* Compares with ssh-keygen -e -m PKCS8, for the types that it supports. */
TEST_CASE(ssh_keygen_agrees)
{
	static const size_t bits[] = { 1024, 1536, 2048, 3071, 4096 };
	const char *der = tmp_path("key.der");
	const uint8_t *got;
	size_t len;

	for (size_t i = 0; i < COUNT(bits) + 3; i++) {
		if (i < COUNT(bits))
			testkey_rsa(&k, bits[i]);
		else
			testkey_new(&k,
			    (enum kv_keytype)(
				KV_KEY_ECDSA_P256 + i - COUNT(bits)));
		output_of("ssh-keygen -e -m PKCS8 -f %s | "
			  "openssl pkey -pubin -outform DER -out %s",
		    tmp_text("key.pub", testkey_line(&k)), der);
		got = read_whole(der, &len);
		assert_bytes(got, len, k.spki[0].p, k.spki[0].len);
		assert_as_openssl(&k);
	}
}

static void
expect_digest(FILE *f, const uint8_t *spki, size_t len)
{
	uint8_t digest[32];

	assert_int_equal(EVP_Digest(spki, len, digest, NULL, EVP_sha256(),
			     NULL),
	    1);
	fprintf(f, "%s\n", hex_of(digest, sizeof(digest)));
}

/* Writes the digests that the oracle must print for a key. */
static void
expect(FILE *f, const struct kv_pubkey *key)
{
	uint8_t out[KV_SPKI_MAX_BYTES];
	size_t len;

	for (size_t i = 0; i < kv_spki_count(key); i++) {
		assert_ok(kv_spki_encode(key, i, out, sizeof(out), &len));
		expect_digest(f, out, len);
	}
	if (kv_spki_encode_compressed(key, out, sizeof(out), &len) == KV_OK)
		expect_digest(f, out, len);
}

/* Writes ten keys and certificates of each type, some in unusual encodings. */
static void
write_keys(FILE *lines, FILE *expected)
{
	struct kv_sshkey key;

	for (int i = 0; i < 100; i++) {
		testkey_new(&k, (enum kv_keytype)(FIRST_TYPE + i % LAST_TYPE));
		fprintf(lines, "%s\n", testkey_line(&k));
		parse(&k.blob, &key);
		expect(expected, &key.key);
		testkey_new(&ca,
		    (enum kv_keytype)(FIRST_TYPE + (i + i / 10) % LAST_TYPE));
		testcert_new(&b, &k, &ca);
		fprintf(lines, "%s\n", line_of(name_in(&b), &b));
		parse(&b, &key);
		expect(expected, &key.key);
		expect(expected, &key.ca);
	}
}

TEST_CASE(the_oracle_agrees)
{
	const char *keys = tmp_path("keys"), *want = tmp_path("want");
	FILE *lines = fopen(keys, "w"), *expected = fopen(want, "w");
	size_t len;

	write_keys(lines, expected);
	fclose(lines);
	fclose(expected);
	output_of(ORACLE "create %s/f --hashes 1 --length 3", tmp_dir());
	assert_lines(output_of(ORACLE "positions %s/f %s | cut -d ' ' -f 2",
			 tmp_dir(), keys),
	    (const char *)read_whole(want, &len));
}
