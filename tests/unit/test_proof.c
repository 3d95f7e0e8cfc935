/* SPDX-License-Identifier: ISC */
/* Proofs that were made here, and what is left of them after changes. */
#include "proof/attestation.h"
#include "proof/jws.h"

#include "testlib.h"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "kv_spki.h"

/* A key pair, and the SPKI of its public half. */
struct pair {
	EVP_PKEY *pkey;
	struct proof_key key;
	uint8_t *der;
	struct kv_span spki;
};

static struct pair rsa, p256, p521;
static char why[PROOF_WHY_BYTES];

static void
take_pair(struct pair *p, EVP_PKEY *pkey)
{
	int len;

	assert_non_null(p->pkey = pkey);
	assert_true((len = i2d_PUBKEY(pkey, &p->der)) > 0);
	p->spki = (struct kv_span){ p->der, (size_t)len };
	assert_true(proof_key_read(p->spki, &p->key, why));
}

static int
make_pairs(void **state)
{
	take_pair(&rsa, EVP_RSA_gen(2048));
	take_pair(&p256, EVP_EC_gen("P-256"));
	take_pair(&p521, EVP_EC_gen("P-521"));
	return test_begin(state);
}

static int
free_pairs(void **state)
{
	struct pair *const all[] = { &rsa, &p256, &p521 };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		EVP_PKEY_free(all[i]->pkey);
		proof_key_free(&all[i]->key);
		OPENSSL_free(all[i]->der);
	}
	return 0;
}

/* A JWS by the pair that names the key with this ID; freed by the caller. */
static char *
make_jws(const struct pair *p, const char *id)
{
	struct proof_key key = p->key;
	char *text;

	memcpy(key.id[0], id, PROOF_ID_BYTES);
	assert_non_null(text = jws_make(&key, p->pkey, why));
	return text;
}

static void
a_jws_is_of_the_key_that_is_asked_about(void **state)
{
	const struct pair *const all[] = { &rsa, &p256, &p521 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char *text = make_jws(all[i], all[i]->key.id[0]);

		for (size_t j = 0; j < 3; j++) {
			assert_int_equal(jws_verify(span_of(text), all[j]->spki,
					     why),
			    i == j);
			assert_int_equal(why[0] == '\0', i == j);
		}
		free(text);
	}
}

static void
its_kid_is_of_the_key_with_its_point_in_either_form(void **state)
{
	char other[PROOF_ID_BYTES], *text;
	const struct kv_span spki = p256.spki;

	(void)state;
	text = make_jws(&p256, p256.key.id[1]);
	assert_true(jws_verify(span_of(text), spki, why));
	free(text);
	memcpy(other, p256.key.id[0], sizeof(other));
	other[63] = other[63] == '0' ? '1' : '0';
	text = make_jws(&p256, other);
	assert_false(jws_verify(span_of(text), spki, why));
	assert_non_null(strstr(why, "about another key"));
	free(text);
	text = make_jws(&rsa, p256.key.id[0]);
	assert_false(jws_verify(span_of(text), spki, why));
	free(text);
}

static void
without_a_text_or_a_key_nothing_is_proved(void **state)
{
	char *text = make_jws(&p256, p256.key.id[0]);
	char *longer = malloc(JWS_MAX_BYTES + 2);

	(void)state;
	assert_non_null(longer);
	assert_false(jws_verify((struct kv_span){ NULL, 0 }, p256.spki, why));
	assert_false(
	    jws_verify(span_of(text), (struct kv_span){ NULL, 0 }, why));
	assert_false(jws_verify(span_of(text),
	    (struct kv_span){ p256.der, p256.spki.len - 1 }, why));
	snprintf(longer, JWS_MAX_BYTES + 2, "%-*s", JWS_MAX_BYTES, text);
	assert_true(jws_verify(span_of(longer), p256.spki, why));
	snprintf(longer, JWS_MAX_BYTES + 2, "%-*s", JWS_MAX_BYTES + 1, text);
	assert_false(jws_verify(span_of(longer), p256.spki, why));
	free(longer);
	free(text);
}

static void
refuse_jws(const uint8_t *p, size_t len, void *arg)
{
	const struct kv_span good = *(const struct kv_span *)arg;

	/* Without its line end, it is as good. */
	if (len == good.len - 1 && memcmp(p, good.p, len) == 0)
		return;
	assert_false(jws_verify((struct kv_span){ p, len }, p256.spki, why));
	assert_true(why[0] != '\0');
}

static void
no_mutant_of_a_jws_is_a_proof(void **state)
{
	char *text = make_jws(&p256, p256.key.id[0]);
	struct kv_span good = span_of(text);

	(void)state;
	for_each_mutant(good.p, good.len, refuse_jws, &good);
	free(text);
}

static void
refuse_attestation(const uint8_t *p, size_t len, void *arg)
{
	struct proof_work work = { .spent = 0 };
	struct proof_key key;

	/* A byte of 255 was set to 255. */
	if (kv_span_equal((struct kv_span){ p, len },
		*(const struct kv_span *)arg))
		return;
	assert_false(
	    attestation_verify((struct kv_span){ p, len }, &work, &key, why));
	assert_true(why[0] != '\0');
	proof_work_free(&work);
}

static void
no_mutant_of_an_attestation_is_a_proof(void **state)
{
	struct proof_work work = { .spent = 0 };
	struct kv_span good;
	struct proof_key key;
	uint8_t *der;

	(void)state;
	der = attestation_make(&p256.key, p256.pkey, &good.len, why);
	assert_non_null(good.p = der);
	assert_true(attestation_verify(good, &work, &key, why));
	proof_work_free(&work);
	assert_string_equal(key.id[0], p256.key.id[0]);
	proof_key_free(&key);
	for_each_mutant(good.p, good.len, refuse_attestation, &good);
	free(der);
}

/* An RSA key with an exponent so long that its work is counted. */
static void
make_unusual_pair(struct pair *p)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	EVP_PKEY *pkey = NULL;
	BIGNUM *e = NULL;

	assert_true(BN_hex2bn(&e, "1000000000000000D") > 0);
	assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
	assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 1024), 1);
	assert_int_equal(EVP_PKEY_CTX_set1_rsa_keygen_pubexp(ctx, e), 1);
	assert_int_equal(EVP_PKEY_keygen(ctx, &pkey), 1);
	BN_free(e);
	EVP_PKEY_CTX_free(ctx);
	take_pair(p, pkey);
}

/* Its signature takes one unit of work, and its modulus another. */
static void
the_work_of_a_run_is_bounded_and_not_spent_twice(void **state)
{
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	struct kv_span der;
	struct pair pair = { .pkey = NULL };
	struct jws jws;
	uint8_t *p;
	char *text;

	(void)state;
	make_unusual_pair(&pair);
	p = attestation_make(&pair.key, pair.pkey, &der.len, why);
	assert_non_null(der.p = p);
	for (uint64_t left = 0; left < 2; left++) {
		work.spent = PROOF_WORK_MAX - left;
		assert_false(attestation_verify(der, &work, &key, why));
		assert_true(work.over);
		assert_non_null(strstr(why, "take more work than one run"));
		assert_int_equal(work.bad, 0);
	}
	work.spent = PROOF_WORK_MAX - 2;
	for (int i = 0; i < 2; i++) {
		assert_true(attestation_verify(der, &work, &key, why));
		assert_false(work.over);
		assert_int_equal(work.spent, PROOF_WORK_MAX);
		proof_key_free(&key);
	}
	/* The modulus is known. A new signature is not. */
	text = jws_make(&pair.key, pair.pkey, why);
	assert_true(jws_read(span_of(text), &jws, why));
	assert_false(jws_is_signed_by(&jws, &pair.key, &work, why));
	assert_true(work.over);
	work.spent--;
	assert_true(jws_is_signed_by(&jws, &pair.key, &work, why));
	assert_false(work.over);
	assert_int_equal(work.spent, PROOF_WORK_MAX);
	/* What is usual is free. */
	jws_free(&jws);
	free(text);
	text = jws_make(&rsa.key, rsa.pkey, why);
	assert_true(jws_read(span_of(text), &jws, why));
	assert_true(jws_is_signed_by(&jws, &rsa.key, &work, why));
	assert_int_equal(work.spent, PROOF_WORK_MAX);
	jws_free(&jws);
	free(text);
	free(p);
	proof_work_free(&work);
	EVP_PKEY_free(pair.pkey);
	proof_key_free(&pair.key);
	OPENSSL_free(pair.der);
}

static bool
refuse_all(const void *proof, const struct proof_key *key,
    char reason[static PROOF_WHY_BYTES])
{
	(void)proof;
	(void)key;
	return proof_refuse(reason, "refused");
}

/*
 * The bytes of a modulus may be those of a forged proof: that the modulus is
 * sound does not make the proof good.
 */
static void
a_known_modulus_is_no_known_proof(void **state)
{
	struct proof_work work = { .spent = 0 };
	uint8_t digest[KV_SHA256_BYTES];
	uint8_t n[256];
	struct jws jws;
	BIGNUM *number = NULL;
	char *text = jws_make(&rsa.key, rsa.pkey, why);

	(void)state;
	assert_true(jws_read(span_of(text), &jws, why));
	assert_true(jws_is_signed_by(&jws, &rsa.key, &work, why));
	assert_true(EVP_PKEY_get_bn_param(rsa.pkey, "n", &number));
	assert_int_equal(BN_bn2bin(number, n), sizeof(n));
	kv_fingerprint_digest_blob(n, sizeof(n), digest);
	assert_false(
	    proof_work_judge(&work, digest, &p256.key, refuse_all, NULL, why));
	assert_string_equal(why, "refused");
	BN_free(number);
	jws_free(&jws);
	free(text);
	proof_work_free(&work);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_jws_is_of_the_key_that_is_asked_about),
		TEST(its_kid_is_of_the_key_with_its_point_in_either_form),
		TEST(without_a_text_or_a_key_nothing_is_proved),
		TEST(no_mutant_of_a_jws_is_a_proof),
		TEST(no_mutant_of_an_attestation_is_a_proof),
		TEST(the_work_of_a_run_is_bounded_and_not_spent_twice),
		TEST(a_known_modulus_is_no_known_proof),
	};

	return cmocka_run_group_tests(tests, make_pairs, free_pairs);
}
