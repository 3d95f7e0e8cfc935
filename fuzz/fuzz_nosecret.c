/* SPDX-License-Identifier: ISC */
/*
 * The keys of each blob are in the class that OpenSSL's numbers and curves put
 * them in: the first byte says which of the blob's keys is compared.
 */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/objects.h>
#include <string.h>

#include "fuzz.h"
#include "kv_nosecret.h"

static BN_CTX *ctx;

static BIGNUM *
number(struct kv_span s)
{
	BIGNUM *n = BN_bin2bn(s.p, (int)s.len, NULL);

	FUZZ_CHECK(n != NULL);
	return n;
}

static bool
has_divisor_below_1000(const BIGNUM *n)
{
	for (BN_ULONG d = 2; d < 1000; d++) {
		if (BN_mod_word(n, d) == 0)
			return true;
	}
	return false;
}

static const char *
rsa_source(const struct kv_pubkey *key)
{
	BIGNUM *e = number(key->field[0]), *n = number(key->field[1]);
	const char *source = NULL;

	if (!BN_is_odd(e) || BN_is_one(e))
		source = "rsa-exponent";
	else if (has_divisor_below_1000(n))
		source = "rsa-factor";
	BN_free(e);
	BN_free(n);
	return source;
}

static bool
is_trivial(struct kv_span v, const BIGNUM *p)
{
	BIGNUM *n = number(v), *rest = BN_new();
	bool trivial = BN_is_zero(n) || BN_is_one(n);

	if (!BN_is_zero(p)) {
		FUZZ_CHECK(BN_nnmod(rest, n, p, ctx) == 1);
		trivial = BN_is_zero(rest) || BN_is_one(rest);
		BN_add_word(rest, 1);
		trivial = trivial || BN_cmp(rest, p) == 0;
	}
	BN_free(n);
	BN_free(rest);
	return trivial;
}

static const char *
dsa_source(const struct kv_pubkey *key)
{
	BIGNUM *p = number(key->field[0]);
	bool trivial = is_trivial(key->field[2], p) ||
	    is_trivial(key->field[3], p);

	BN_free(p);
	return trivial ? "dsa-group" : NULL;
}

static const char *
ecdsa_source(struct kv_span point, int curve)
{
	EC_GROUP *group = EC_GROUP_new_by_curve_name(curve);
	EC_POINT *multiple = EC_POINT_new(group);
	const struct kv_span coordinate = { point.p + 1, point.len / 2 };
	BIGNUM *wanted = number(coordinate), *k = BN_new(), *x = BN_new();
	bool found = false;

	for (BN_ULONG i = 1; i <= 8; i++) {
		BN_set_word(k, i);
		FUZZ_CHECK(
		    EC_POINT_mul(group, multiple, k, NULL, NULL, ctx) == 1 &&
		    EC_POINT_get_affine_coordinates(group, multiple, x, NULL,
			ctx) == 1);
		found = found || BN_cmp(x, wanted) == 0;
	}
	BN_free(wanted);
	BN_free(k);
	BN_free(x);
	EC_POINT_free(multiple);
	EC_GROUP_free(group);
	return found ? "ecdsa-generator" : NULL;
}

/*
 * Doubles a point of -x^2 + y^2 = 1 + dx^2y^2 (RFC 8032 section 5.1) by its y
 * alone: the new y is (y^2 + x^2) / (1 - dx^2y^2).
 */
static void
double_point(BIGNUM *y, const BIGNUM *d, const BIGNUM *p)
{
	BIGNUM *yy = BN_new(), *xx = BN_new(), *below = BN_new();

	BN_mod_sqr(yy, y, p, ctx);
	BN_mod_mul(below, d, yy, p, ctx);
	BN_add_word(below, 1);
	FUZZ_CHECK(BN_mod_inverse(below, below, p, ctx) != NULL);
	BN_mod_sub(xx, yy, BN_value_one(), p, ctx);
	BN_mod_mul(xx, xx, below, p, ctx);
	BN_mod_mul(below, xx, yy, p, ctx);
	BN_mod_mul(below, below, d, p, ctx);
	BN_mod_sub(below, BN_value_one(), below, p, ctx);
	BN_mod_add(y, yy, xx, p, ctx);
	FUZZ_CHECK(BN_mod_inverse(below, below, p, ctx) != NULL);
	BN_mod_mul(y, y, below, p, ctx);
	BN_free(yy);
	BN_free(xx);
	BN_free(below);
}

static const char *
ed25519_source(struct kv_span key)
{
	BIGNUM *p = BN_new(), *d = BN_new(), *y;
	uint8_t bytes[KV_ED25519_BYTES];
	bool small;

	memcpy(bytes, key.p, sizeof(bytes));
	bytes[sizeof(bytes) - 1] &= 0x7f;
	y = BN_lebin2bn(bytes, sizeof(bytes), NULL);
	BN_set_bit(p, 255);
	BN_sub_word(p, 19);
	BN_set_word(d, 121666);
	FUZZ_CHECK(BN_mod_inverse(d, d, p, ctx) != NULL);
	BN_mul_word(d, 121665);
	BN_set_negative(d, 1);
	BN_nnmod(d, d, p, ctx);
	BN_nnmod(y, y, p, ctx);
	for (int i = 0; i < 3; i++)
		double_point(y, d, p);
	small = BN_is_one(y);
	BN_free(p);
	BN_free(d);
	BN_free(y);
	return small ? "ed25519-order" : NULL;
}

static const char *
source_by_openssl(const struct kv_pubkey *key)
{
	switch (key->type) {
	case KV_KEY_RSA:
		return rsa_source(key);
	case KV_KEY_DSA:
		return dsa_source(key);
	case KV_KEY_ECDSA_P256:
	case KV_KEY_SK_ECDSA_P256:
		return ecdsa_source(key->field[0], NID_X9_62_prime256v1);
	case KV_KEY_ECDSA_P384:
		return ecdsa_source(key->field[0], NID_secp384r1);
	case KV_KEY_ECDSA_P521:
		return ecdsa_source(key->field[0], NID_secp521r1);
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
		return ed25519_source(key->field[0]);
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		return ed25519_source(key->field[1]);
	case KV_KEY_ED448:
	case KV_KEY_NONE:
		break;
	}
	return NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_sshkey key;
	const struct kv_pubkey *part;
	const char *got, *want;

	if (ctx == NULL)
		ctx = BN_CTX_new();
	if (size == 0)
		return 0;
	(void)!kv_sshkey_parse(data + 1, size - 1, &key);
	part = data[0] & 1 ? &key.ca : &key.key;
	got = kv_nosecret_source(part);
	want = source_by_openssl(part);
	FUZZ_CHECK((got == NULL) == (want == NULL));
	FUZZ_CHECK(got == NULL || strcmp(got, want) == 0);
	return 0;
}
