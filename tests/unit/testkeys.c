/* SPDX-License-Identifier: ISC */
#include "testkeys.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

const char rsa_line[] =
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCdjWIIuoUy+RGC"
    "PtkPGcZtZSk437aUFB2CgIkvfiA5H3iB+mg6yk8yotIf0tVVYMy16h7Yr1zmyLAngTIUpoBz"
    "uQg5E66wn70QxkB065sy3FYM8D4wkMW9OP2J91SoeoYnkwJ0nu8LHTF/T9GpTvxJCVvSMoYE"
    "sF1GHFFCwl4YQOYPscerqxr7dfP/mwlulLrwBxYmbXcDRtukf8eANy6Xo8ckesGhJ9ndhe/W"
    "600n6xZTNToBXiWyI1/jWkzvRj3NvgAvPH2ypJm6AQD1wkNVFp+yNVqoL9xZJS+LLh2Nu3cw"
    "GucS9QI7Rg4f4M/naL065eDYLxEFegSM5ZfAp9cn";
const char ec_line[] =
    "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAA"
    "AIbmlzdHAyNTYAAABBBB1cUco3MYNAAsJnijrjErO+nmYcbp3KvL2DyX7tBDc2LRzEgW2/9D"
    "vIO9z2waIgAHxiQXpnadjchiy3DzmaSfk=";

void
put(struct blob *b, const void *p, size_t len)
{
	assert_true(len <= sizeof(b->p) - b->len);
	if (len > 0)
		memcpy(b->p + b->len, p, len);
	b->len += len;
}

void
put_blob(struct blob *b, const struct blob *what)
{
	put(b, what->p, what->len);
}

void
put_u8(struct blob *b, unsigned int v)
{
	const uint8_t byte = (uint8_t)v;

	put(b, &byte, 1);
}

void
put_u32(struct blob *b, uint32_t v)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		put_u8(b, v >> shift & 0xff);
}

void
put_u64(struct blob *b, uint64_t v)
{
	put_u32(b, (uint32_t)(v >> 32));
	put_u32(b, (uint32_t)v);
}

void
put_string(struct blob *b, const void *p, size_t len)
{
	put_u32(b, (uint32_t)len);
	put(b, p, len);
}

void
put_text(struct blob *b, const char *s)
{
	put_string(b, s, strlen(s));
}

void
put_padded(struct blob *b, const void *p, size_t len, size_t pad)
{
	put_u32(b, (uint32_t)(pad + len));
	while (pad-- > 0)
		put_u8(b, 0);
	put(b, p, len);
}

/* OpenSSL's "MPI" is SSH's mpint. */
static void
put_bn(struct blob *b, const BIGNUM *n)
{
	uint8_t *p = test_alloc((size_t)BN_bn2mpi(n, NULL));

	put(b, p, (size_t)BN_bn2mpi(n, p));
}

static BIGNUM *
random_bn(size_t bits)
{
	BIGNUM *n = BN_new();

	assert_int_equal(BN_rand(n, (int)bits, BN_RAND_TOP_ONE,
			     BN_RAND_BOTTOM_ANY),
	    1);
	return n;
}

static void
add_spki(struct blob *b, EVP_PKEY *pkey)
{
	unsigned char *der = NULL;
	int len = i2d_PUBKEY(pkey, &der);

	assert_true(len > 0);
	b->len = 0;
	put(b, der, (size_t)len);
	OPENSSL_free(der);
}

/* Sets the fields and the SPKI from pkey, and frees pkey. */
static void
finish(struct testkey *k, enum kv_keytype type, const char *name,
    EVP_PKEY *pkey)
{
	k->type = type;
	k->blob.len = 0;
	put_text(&k->blob, name);
	put_blob(&k->blob, &k->fields);
	k->n_spki = 1;
	add_spki(&k->spki[0], pkey);
	EVP_PKEY_free(pkey);
}

static EVP_PKEY *
pkey_from_numbers(const char *algorithm, const char *const names[],
    BIGNUM *const n[], size_t count)
{
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, algorithm, NULL);
	OSSL_PARAM_BLD *bld = OSSL_PARAM_BLD_new();
	OSSL_PARAM *params;
	EVP_PKEY *pkey = NULL;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(OSSL_PARAM_BLD_push_BN(bld, names[i], n[i]),
		    1);
	params = OSSL_PARAM_BLD_to_param(bld);
	assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
	assert_int_equal(EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY,
			     params),
	    1);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(bld);
	EVP_PKEY_CTX_free(ctx);
	return pkey;
}

/* Takes ownership of the numbers e and n. */
static void
rsa_from_numbers(struct testkey *k, BIGNUM *e, BIGNUM *n)
{
	static const char *const names[] = { OSSL_PKEY_PARAM_RSA_E,
		OSSL_PKEY_PARAM_RSA_N };
	BIGNUM *const numbers[] = { e, n };

	*k = (struct testkey){ 0 };
	put_bn(&k->fields, e);
	put_bn(&k->fields, n);
	finish(k, KV_KEY_RSA, "ssh-rsa",
	    pkey_from_numbers("RSA", names, numbers, 2));
	BN_free(e);
	BN_free(n);
}

void
testkey_rsa(struct testkey *k, size_t bits)
{
	static const size_t e_bits[] = { 2, 5, 8, 17, 31, 32, 64, 256 };

	rsa_from_numbers(k, random_bn(e_bits[fresh_below(COUNT(e_bits))]),
	    random_bn(bits));
}

/*
 * An RSA key as any: its exponent is 65537, and no prime below 1000 divides its
 * modulus. It is no product of two primes: to find these takes long.
 */
static void
rsa_new(struct testkey *k)
{
	BIGNUM *e = BN_new(), *n = NULL;
	BN_ULONG divisor = 0;

	while (divisor != 1001) {
		BN_free(n);
		n = random_bn(2048);
		BN_set_bit(n, 0);
		for (divisor = 3; divisor < 1001; divisor += 2) {
			if (BN_mod_word(n, divisor) == 0)
				break;
		}
	}
	BN_set_word(e, 65537);
	rsa_from_numbers(k, e, n);
}

void
testkey_rsa_numbers(struct testkey *k, const uint8_t *e, size_t e_len,
    const uint8_t *n, size_t n_len)
{
	rsa_from_numbers(k, BN_bin2bn(e, (int)e_len, NULL),
	    BN_bin2bn(n, (int)n_len, NULL));
}

void
testkey_dsa(struct testkey *k, size_t p_bits, size_t q_bits)
{
	static const char *const names[] = { OSSL_PKEY_PARAM_FFC_P,
		OSSL_PKEY_PARAM_FFC_Q, OSSL_PKEY_PARAM_FFC_G,
		OSSL_PKEY_PARAM_PUB_KEY };
	BIGNUM *const numbers[] = {
		random_bn(p_bits),
		random_bn(q_bits),
		random_bn(p_bits - 1),
		/* Not 1, which needs no secret. */
		random_bn(2 + fresh_below(p_bits - 2)),
	};

	*k = (struct testkey){ 0 };
	for (size_t i = 0; i < COUNT(numbers); i++)
		put_bn(&k->fields, numbers[i]);
	finish(k, KV_KEY_DSA, "ssh-dss",
	    pkey_from_numbers("DSA", names, numbers, COUNT(numbers)));
	for (size_t i = 0; i < COUNT(numbers); i++)
		BN_free(numbers[i]);
}

static void
ecdsa_new(struct testkey *k, enum kv_keytype type, const char *name,
    const char *group, const char *curve)
{
	EVP_PKEY *pkey = EVP_EC_gen(group);
	uint8_t point[1 + 2 * 66];
	size_t len;

	assert_non_null(pkey);
	assert_int_equal(EVP_PKEY_get_octet_string_param(pkey,
			     OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point),
			     &len),
	    1);
	put_text(&k->fields, curve);
	put_string(&k->fields, point, len);
	assert_int_equal(EVP_PKEY_up_ref(pkey), 1);
	finish(k, type, name, pkey);
	assert_int_equal(EVP_PKEY_set_utf8_string_param(pkey,
			     OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT,
			     OSSL_PKEY_EC_POINT_CONVERSION_FORMAT_COMPRESSED),
	    1);
	add_spki(&k->compressed, pkey);
	EVP_PKEY_free(pkey);
}

static void
eddsa_new(struct testkey *k, enum kv_keytype type, const char *name,
    const char *algorithm)
{
	EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, algorithm);
	uint8_t raw[57];
	size_t len = sizeof(raw);

	assert_non_null(pkey);
	assert_int_equal(EVP_PKEY_get_raw_public_key(pkey, raw, &len), 1);
	put_string(&k->fields, raw, len);
	finish(k, type, name, pkey);
}

void
testkey_sk(struct testkey *k, const struct testkey *plain,
    const char *application)
{
	bool ec = plain->type == KV_KEY_ECDSA_P256;

	assert_ptr_not_equal(k, plain);
	*k = *plain;
	k->type = ec ? KV_KEY_SK_ECDSA_P256 : KV_KEY_SK_ED25519;
	put_text(&k->fields, application);
	k->blob.len = 0;
	put_text(&k->blob,
	    ec ? "sk-ecdsa-sha2-nistp256@openssh.com" :
		 "sk-ssh-ed25519@openssh.com");
	put_blob(&k->blob, &k->fields);
}

static void
security_key_new(struct testkey *k, enum kv_keytype type)
{
	static struct testkey plain;

	testkey_new(&plain,
	    type == KV_KEY_SK_ECDSA_P256 ? KV_KEY_ECDSA_P256 : KV_KEY_ED25519);
	testkey_sk(k, &plain, "ssh:");
}

/*
 * OpenSSL 3.0 does not know ML-DSA. Its SPKIs are a literal header, from RFC
 * 9881 and the composite signatures draft, and the key.
 */
static void
mldsa_new(struct testkey *k, enum kv_keytype type)
{
	static const uint8_t composite[] = { 0x30, 0x82, 0x05, 0x51, 0x30, 0x0a,
		0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x06, 0x27,
		0x03, 0x82, 0x05, 0x41, 0x00 };
	static const uint8_t mldsa44[] = { 0x30, 0x82, 0x05, 0x32, 0x30, 0x0b,
		0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03,
		0x11, 0x03, 0x82, 0x05, 0x21, 0x00 };
	static struct testkey half;
	uint8_t raw[1312 + 32];

	testkey_new(&half, KV_KEY_ED25519);
	fresh_bytes(raw, 1312);
	memcpy(raw + 1312, half.fields.p + 4, 32);
	k->type = type;
	put_string(&k->fields, raw, sizeof(raw));
	put_text(&k->blob,
	    type == KV_KEY_MLDSA44_ED25519 ? "ssh-mldsa44-ed25519" :
					     "ssh-mldsa44-ed25519@openssh.com");
	put_blob(&k->blob, &k->fields);
	k->n_spki = 3;
	put(&k->spki[0], composite, sizeof(composite));
	put(&k->spki[0], raw, sizeof(raw));
	put(&k->spki[1], mldsa44, sizeof(mldsa44));
	put(&k->spki[1], raw, 1312);
	put_blob(&k->spki[2], &half.spki[0]);
}

void
testkey_new(struct testkey *k, enum kv_keytype type)
{
	*k = (struct testkey){ 0 };
	switch (type) {
	case KV_KEY_RSA:
		rsa_new(k);
		break;
	case KV_KEY_DSA:
		testkey_dsa(k, 1024, 160);
		break;
	case KV_KEY_ECDSA_P256:
		ecdsa_new(k, type, "ecdsa-sha2-nistp256", "P-256", "nistp256");
		break;
	case KV_KEY_ECDSA_P384:
		ecdsa_new(k, type, "ecdsa-sha2-nistp384", "P-384", "nistp384");
		break;
	case KV_KEY_ECDSA_P521:
		ecdsa_new(k, type, "ecdsa-sha2-nistp521", "P-521", "nistp521");
		break;
	case KV_KEY_ED25519:
		eddsa_new(k, type, "ssh-ed25519", "ED25519");
		break;
	case KV_KEY_ED448:
		eddsa_new(k, type, "ssh-ed448", "ED448");
		break;
	case KV_KEY_SK_ED25519:
	case KV_KEY_SK_ECDSA_P256:
		security_key_new(k, type);
		break;
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		mldsa_new(k, type);
		break;
	case KV_KEY_NONE:
		fail_msg("no such key");
	}
}

char *
line_of(const char *type, const struct blob *b)
{
	return format("%s %s", type, base64_of(b->p, b->len));
}

char *
name_in(const struct blob *b)
{
	return format("%.*s", b->p[3], (const char *)b->p + 4);
}

char *
testkey_line(const struct testkey *k)
{
	return line_of(name_in(&k->blob), &k->blob);
}

char *
cert_name_of(const char *plain)
{
	if (strcmp(plain, "ssh-mldsa44-ed25519") == 0)
		return format("%s-cert", plain);
	return format("%.*s-cert-v01@openssh.com", (int)strcspn(plain, "@"),
	    plain);
}

char *
line_of_openssh_10_6(const char *name)
{
	size_t len;
	uint8_t *text = read_whole(format("testdata/openssh-10.6/%s.pub", name),
	    &len);

	return format("%.*s", (int)strcspn((char *)text, "\n"), (char *)text);
}

void
blob_of_line(const char *line, struct blob *b)
{
	const char *text = strchr(line, ' ') + 1;
	size_t len = strcspn(text, " ");
	int n = EVP_DecodeBlock(b->p, (const unsigned char *)text, (int)len);

	assert_true(n > 0);
	b->len = (size_t)n;
	/* EVP_DecodeBlock also counts the bytes that padding stands for. */
	for (const char *p = text + len; p[-1] == '='; p--)
		b->len--;
}

void
testcert_init(struct testcert *c, const struct testkey *k,
    const struct testkey *ca)
{
	const char *name = cert_name_of(name_in(&k->blob));

	*c = (struct testcert){ .fields = &k->fields, .kind = 1 };
	put(&c->name, name, strlen(name));
	put(&c->key_id, "a key", 5);
	put_text(&c->principals, "alice");
	put_text(&c->extensions, "permit-pty");
	put_text(&c->extensions, "");
	put_blob(&c->ca, &ca->blob);
}

void
cert_build(struct testcert *c, struct blob *out)
{
	uint8_t nonce[32];

	fresh_bytes(nonce, sizeof(nonce));
	out->len = 0;
	put_string(out, c->name.p, c->name.len);
	put_string(out, nonce, sizeof(nonce));
	put_blob(out, c->fields);
	c->key_end = out->len;
	put_u64(out, 1); /* serial */
	put_u32(out, c->kind);
	put_string(out, c->key_id.p, c->key_id.len);
	put_string(out, c->principals.p, c->principals.len);
	put_u64(out, 0);	  /* valid after */
	put_u64(out, UINT64_MAX); /* valid before */
	put_string(out, c->critical.p, c->critical.len);
	put_string(out, c->extensions.p, c->extensions.len);
	put_string(out, "", 0); /* reserved */
	put_string(out, c->ca.p, c->ca.len);
	c->ca_end = out->len;
	put_string(out, nonce, sizeof(nonce)); /* "signature" */
}

void
testcert_new(struct blob *out, const struct testkey *k,
    const struct testkey *ca)
{
	static struct testcert c;

	testcert_init(&c, k, ca);
	cert_build(&c, out);
}
