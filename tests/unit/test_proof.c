/* SPDX-License-Identifier: ISC */
/* Proofs that were made here, and what is left of them after changes. */
#include "proof/attestation.h"
#include "proof/jws.h"

#include "testlib.h"

#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

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

static void
make_pairs(void)
{
	take_pair(&rsa, EVP_RSA_gen(2048));
	take_pair(&p256, EVP_EC_gen("P-256"));
	take_pair(&p521, EVP_EC_gen("P-521"));
}

static void
free_pairs(void)
{
	struct pair *const all[] = { &rsa, &p256, &p521 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		EVP_PKEY_free(all[i]->pkey);
		proof_key_free(&all[i]->key);
		OPENSSL_free(all[i]->der);
	}
}

static void
encode_base64url(const void *p, size_t len, char text[static 2048])
{
	int n = EVP_EncodeBlock((uint8_t *)text, p, (int)len);

	while (n > 0 && text[n - 1] == '=')
		text[--n] = '\0';
	for (; n > 0; n--)
		text[n - 1] = text[n - 1] == '+' ? '-' :
		    text[n - 1] == '/'		 ? '_' :
						   text[n - 1];
}

/* A JWS by the pair that names the key with this ID; freed by the caller. */
static char *
make_jws(const struct pair *p, const char *id)
{
	static const char statement[] = "This key is pwned!";
	const size_t half = p->pkey == p521.pkey ? 66 :
	    p->pkey == p256.pkey		 ? 32 :
						   0;
	char header[128], part[3][2048], input[4200], *text;
	uint8_t made[2048], fixed[132];
	const uint8_t *der = made;
	size_t len = sizeof(made);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	ECDSA_SIG *sig;

	snprintf(header, sizeof(header), "{\"alg\":\"%s\",\"kid\":\"%s\"}",
	    half == 0	   ? "RS256" :
		half == 32 ? "ES256" :
			     "ES512",
	    id);
	encode_base64url(header, strlen(header), part[0]);
	encode_base64url(statement, strlen(statement), part[1]);
	snprintf(input, sizeof(input), "%s.%s", part[0], part[1]);
	assert_int_equal(EVP_DigestSignInit_ex(ctx, NULL,
			     half == 66 ? "SHA512" : "SHA256", NULL, NULL,
			     p->pkey, NULL),
	    1);
	assert_int_equal(EVP_DigestSign(ctx, made, &len, (uint8_t *)input,
			     strlen(input)),
	    1);
	EVP_MD_CTX_free(ctx);
	if (half > 0) {
		sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
		BN_bn2binpad(ECDSA_SIG_get0_r(sig), fixed, (int)half);
		BN_bn2binpad(ECDSA_SIG_get0_s(sig), fixed + half, (int)half);
		ECDSA_SIG_free(sig);
	}
	encode_base64url(half > 0 ? fixed : made, half > 0 ? 2 * half : len,
	    part[2]);
	assert_true(asprintf(&text,
			"{\"protected\":\"%s\",\"payload\":\"%s\","
			"\"signature\":\"%s\"}\n",
			part[0], part[1], part[2]) > 0);
	return text;
}

/* An attestation by the pair: its DER, freed by OPENSSL_free. */
static struct kv_span
make_attestation(const struct pair *p)
{
	static const char subject[] = "kca=v1 This Key Is Compromised";
	ASN1_OBJECT *oid = OBJ_txt2obj("1.3.6.1.5.5.7.1.23", 1);
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	X509_REQ *req = X509_REQ_new();
	STACK_OF(X509_EXTENSION) *asked = sk_X509_EXTENSION_new_null();
	uint8_t *der = NULL;
	int len;

	ASN1_OCTET_STRING_set(value, (const uint8_t *)"\1\1\xff", 3);
	sk_X509_EXTENSION_push(asked,
	    X509_EXTENSION_create_by_OBJ(NULL, oid, 1, value));
	assert_int_equal(
	    X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(req), "CN",
		V_ASN1_UTF8STRING, (const uint8_t *)subject, -1, -1, 0),
	    1);
	assert_int_equal(X509_REQ_add_extensions(req, asked), 1);
	assert_int_equal(X509_REQ_set_pubkey(req, p->pkey), 1);
	assert_true(X509_REQ_sign(req, p->pkey, EVP_sha256()) > 0);
	assert_true((len = i2d_X509_REQ(req, &der)) > 0);
	sk_X509_EXTENSION_pop_free(asked, X509_EXTENSION_free);
	ASN1_OCTET_STRING_free(value);
	ASN1_OBJECT_free(oid);
	X509_REQ_free(req);
	return (struct kv_span){ der, (size_t)len };
}

TEST_CASE(a_jws_is_of_the_key_that_is_asked_about)
{
	const struct pair *const all[] = { &rsa, &p256, &p521 };

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

TEST_CASE(its_kid_is_of_the_key_with_its_point_in_either_form)
{
	char other[PROOF_ID_BYTES], *text;
	const struct kv_span spki = p256.spki;

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

TEST_CASE(without_a_text_or_a_key_nothing_is_proved)
{
	char *text = make_jws(&p256, p256.key.id[0]);
	char *longer = malloc(JWS_MAX_BYTES + 2);

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

	/* White space at its end may be another, or missing. */
	if (len >= good.len - 1 && memcmp(p, good.p, good.len - 1) == 0 &&
	    (len < good.len || strchr(" \t\r", p[len - 1]) != NULL))
		return;
	assert_false(jws_verify((struct kv_span){ p, len }, p256.spki, why));
	assert_true(why[0] != '\0');
}

TEST_CASE(no_mutant_of_a_jws_is_a_proof)
{
	char *text = make_jws(&p256, p256.key.id[0]);
	struct kv_span good = span_of(text);

	for_each_mutant(good.p, good.len, refuse_jws, &good);
	free(text);
}

static void
refuse_attestation(const uint8_t *p, size_t len, void *arg)
{
	struct proof_work work = { .spent = 0 };
	struct proof_key key;

	(void)arg;
	assert_false(
	    attestation_verify((struct kv_span){ p, len }, &work, &key, why));
	assert_true(why[0] != '\0');
	proof_work_free(&work);
}

TEST_CASE(no_mutant_of_an_attestation_is_a_proof)
{
	struct proof_work work = { .spent = 0 };
	const struct kv_span good = make_attestation(&p256);
	struct proof_key key;

	assert_true(attestation_verify(good, &work, &key, why));
	proof_work_free(&work);
	assert_string_equal(key.id[0], p256.key.id[0]);
	proof_key_free(&key);
	for_each_mutant(good.p, good.len, refuse_attestation, NULL);
	OPENSSL_free((void *)good.p);
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
TEST_CASE(the_work_of_a_run_is_bounded_and_not_spent_twice)
{
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	struct kv_span der;
	struct pair pair = { .pkey = NULL };
	struct jws jws;
	char *text;

	make_unusual_pair(&pair);
	der = make_attestation(&pair);
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
	text = make_jws(&pair, pair.key.id[0]);
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
	text = make_jws(&rsa, rsa.key.id[0]);
	assert_true(jws_read(span_of(text), &jws, why));
	assert_true(jws_is_signed_by(&jws, &rsa.key, &work, why));
	assert_int_equal(work.spent, PROOF_WORK_MAX);
	jws_free(&jws);
	free(text);
	OPENSSL_free((void *)der.p);
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
TEST_CASE(a_known_modulus_is_no_known_proof)
{
	struct proof_work work = { .spent = 0 };
	uint8_t digest[KV_SHA256_BYTES];
	uint8_t n[256];
	struct jws jws;
	BIGNUM *number = NULL;
	char *text = make_jws(&rsa, rsa.key.id[0]);

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
	return run_all_tests(&(struct fixture){ .before_all = make_pairs,
	    .after_all = free_pairs });
}
