/* SPDX-License-Identifier: ISC */
/* Readers of what OpenSSL decodes: SPKI, PKCS#1, PKCS#8, SEC 1, X.509. */
#include <openssl/core_names.h>
#include <openssl/decoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "keys/pem_forms.h"

/* The longest integers that sshd takes. OpenSSL would read a megabit. */
#define BITS_MAX (KV_MPINT_MAX_BYTES * 8)

/*
 * The longest private keys that are passed to OpenSSL. RSA of 16384 bits in
 * PKCS#8 has 9.4 KiB. For DSA, OpenSSL must compute the public half, g^x mod p,
 * which is very slow with large numbers. 2700 bytes are enough for 10000 bits,
 * OpenSSL's limit for DSA. x has at most 256 bits in every DSA key of FIPS
 * 186-4; with 512, that takes a hundredth of a second.
 */
#define PRIVATE_MAX_BYTES (32 * 1024)
#define DSA_PRIVATE_MAX_BYTES 2700
#define DSA_X_MAX_BYTES (2 + 1 + 512 / 8) /* an INTEGER */

/* The longest key of a type that OpenSSL does not know. */
#define UNKNOWN_MAX_BYTES (64 * 1024)

/* draft-ietf-lamps-pq-composite-sigs, id-MLDSA44-Ed25519-SHA512 */
#define OID_MLDSA44_ED25519 "1.3.6.1.5.5.7.6.39"

static OSSL_LIB_CTX *libctx;
static pthread_once_t libctx_once = PTHREAD_ONCE_INIT;

static void
make_libctx(void)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	libctx = OSSL_LIB_CTX_new();
}

OSSL_LIB_CTX *
pem_openssl_context(void)
{
	(void)pthread_once(&libctx_once, make_libctx);
	return libctx;
}

static bool
refuse_openssl(const struct pem_out *o)
{
	return pem_refuse(o, "OpenSSL cannot decode this key");
}

static bool
refuse_malformed(const struct pem_out *o, const char *what)
{
	return pem_refuse(o, "%s is malformed", what);
}

/* An SSH blob being built. full stays set once something did not fit. */
struct blob {
	uint8_t p[KV_PUBKEY_FIELDS * (4 + KV_MPINT_MAX_WIRE_BYTES) + 64];
	size_t len;
	bool full;
};

static void
put_string(struct blob *b, const void *p, size_t len)
{
	b->full |= len > sizeof(b->p) - 4 || b->len > sizeof(b->p) - 4 - len;
	if (b->full)
		return;
	for (int shift = 24; shift >= 0; shift -= 8)
		b->p[b->len++] = (uint8_t)(len >> shift);
	if (len > 0)
		memcpy(b->p + b->len, p, len);
	b->len += len;
}

static struct blob
start_blob(enum kv_keytype type)
{
	const char *name = kv_keytype_name(type);
	const char *curve = kv_keytype_curve(type);
	struct blob b = { .len = 0 };

	put_string(&b, name, strlen(name));
	if (curve != NULL)
		put_string(&b, curve, strlen(curve));
	return b;
}

static bool
convert_built(const struct blob *b, const struct pem_out *o)
{
	if (b->full)
		return pem_refuse(o, "%s", kv_strerror(KV_ERR_INT_TOO_LARGE));
	return pem_copy_blob((struct kv_span){ b->p, b->len }, o);
}

/*
 * Appends an mpint: RFC 4251 section 5 wants a zero byte before a set top bit.
 * False if the key has no such number.
 */
static bool
put_mpint(struct blob *b, const EVP_PKEY *pkey, const char *param)
{
	uint8_t buf[1 + KV_MPINT_MAX_BYTES] = { 0 };
	BIGNUM *n = NULL;
	int bits;

	if (!EVP_PKEY_get_bn_param(pkey, param, &n))
		return false;
	bits = BN_num_bits(n);
	if (bits > BITS_MAX || BN_bn2binpad(n, buf, bits / 8 + 1) == -1)
		b->full = true;
	else
		put_string(b, buf, bits > 0 ? (size_t)bits / 8 + 1 : 0);
	BN_free(n);
	return true;
}

static bool
convert_rsa(const EVP_PKEY *pkey, const struct pem_out *o)
{
	struct blob b = start_blob(KV_KEY_RSA);

	if (!put_mpint(&b, pkey, OSSL_PKEY_PARAM_RSA_E) ||
	    !put_mpint(&b, pkey, OSSL_PKEY_PARAM_RSA_N))
		return refuse_openssl(o);
	return convert_built(&b, o);
}

static bool
convert_dsa(const EVP_PKEY *pkey, const struct pem_out *o)
{
	struct blob b = start_blob(KV_KEY_DSA);

	/* A certificate may omit p, q and g, and inherit the issuer's. */
	if (!put_mpint(&b, pkey, OSSL_PKEY_PARAM_FFC_P) ||
	    !put_mpint(&b, pkey, OSSL_PKEY_PARAM_FFC_Q) ||
	    !put_mpint(&b, pkey, OSSL_PKEY_PARAM_FFC_G) ||
	    !put_mpint(&b, pkey, OSSL_PKEY_PARAM_PUB_KEY))
		return pem_refuse(o, "DSA key without p, q, g or y");
	return convert_built(&b, o);
}

/* Of Ed25519 and Ed448, and of an elliptic curve that is NIST's. */
static bool
convert_point(const EVP_PKEY *pkey, enum kv_keytype type,
    const struct pem_out *o)
{
	struct blob b = start_blob(type);
	uint8_t point[1 + 2 * 66];
	size_t len;

	if (!EVP_PKEY_get_octet_string_param(pkey, OSSL_PKEY_PARAM_PUB_KEY,
		point, sizeof(point), &len))
		return refuse_malformed(o, "point of this EC key");
	put_string(&b, point, len);
	return convert_built(&b, o);
}

static enum kv_keytype
find_curve(const char *group)
{
	static const struct {
		const char *group;
		enum kv_keytype type;
	} curves[] = {
		{ "prime256v1", KV_KEY_ECDSA_P256 },
		{ "secp384r1", KV_KEY_ECDSA_P384 },
		{ "secp521r1", KV_KEY_ECDSA_P521 },
	};

	for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
		if (strcmp(group, curves[i].group) == 0)
			return curves[i].type;
	}
	return KV_KEY_NONE;
}

/* Copies the SPKI of a key without an SSH form into o->key. */
static bool
convert_spki(const uint8_t *der, int len, unsigned int bits,
    const struct pem_out *o)
{
	struct pem_key *key = o->key;

	if (len <= 0)
		return refuse_openssl(o);
	if ((key->spki = malloc((size_t)len)) == NULL)
		return pem_refuse(o, "%s", kv_strerror(KV_ERR_MEMORY));
	memcpy(key->spki, der, (size_t)len);
	key->spki_len = (size_t)len;
	key->bits = bits;
	return true;
}

/* Blanks become hyphens: the type is printed as one word. */
static void
set_type(struct pem_key *key, const char *name, const char *detail)
{
	snprintf(key->type, sizeof(key->type), "%s%s%s", name,
	    detail[0] != '\0' ? "-" : "", detail);
	for (char *p = key->type; *p != '\0'; p++) {
		if (*p == ' ')
			*p = '-';
	}
}

/* Sets what exact lists have of the key, if its type has a number in them. */
static void
set_hash_of_number(const EVP_PKEY *pkey, struct pem_key *key)
{
	uint8_t buf[KV_MPINT_MAX_BYTES];
	const char *param = EVP_PKEY_is_a(pkey, "EC") ?
	    OSSL_PKEY_PARAM_EC_PUB_X :
	    EVP_PKEY_is_a(pkey, "RSA-PSS") ?
	    OSSL_PKEY_PARAM_RSA_N :
	    NULL;
	BIGNUM *n = NULL;

	if (param == NULL || !EVP_PKEY_get_bn_param(pkey, param, &n))
		return;
	if (BN_num_bytes(n) <= (int)sizeof(buf)) {
		kv_blocklist_hash_bytes((struct kv_span){ buf,
					    (size_t)BN_bn2bin(n, buf) },
		    &key->hash);
		key->has_hash = true;
	}
	BN_free(n);
}

static bool
convert_other(const EVP_PKEY *pkey, const char *detail, const struct pem_out *o)
{
	const char *name = EVP_PKEY_get0_type_name(pkey);
	uint8_t *der = NULL;
	int len;
	bool ok;

	set_type(o->key, name != NULL ? name : "unknown", detail);
	set_hash_of_number(pkey, o->key);
	len = i2d_PUBKEY(pkey, &der);
	ok = convert_spki(der, len, (unsigned int)EVP_PKEY_get_bits(pkey), o);
	OPENSSL_free(der);
	return ok;
}

/*
 * The SPKI always gets an uncompressed point and a named curve, whatever the
 * file has: the publishers of filters encode it so.
 */
static bool
convert_ec(EVP_PKEY *pkey, const struct pem_out *o)
{
	char group[KV_KEYTYPE_NAME_BYTES];
	enum kv_keytype type;

	if (!EVP_PKEY_set_utf8_string_param(pkey,
		OSSL_PKEY_PARAM_EC_POINT_CONVERSION_FORMAT, "uncompressed"))
		return refuse_openssl(o);
	if (!EVP_PKEY_get_group_name(pkey, group, sizeof(group), NULL))
		return convert_other(pkey, "explicit", o); /* not named */
	if ((type = find_curve(group)) != KV_KEY_NONE)
		return convert_point(pkey, type, o);
	if (!EVP_PKEY_set_utf8_string_param(pkey, OSSL_PKEY_PARAM_EC_ENCODING,
		OSSL_PKEY_EC_ENCODING_GROUP))
		return refuse_openssl(o);
	return convert_other(pkey, group, o);
}

static bool
convert_pkey(EVP_PKEY *pkey, const struct pem_out *o)
{
	int bits = EVP_PKEY_get_bits(pkey);

	if (bits > BITS_MAX)
		return pem_refuse(o,
		    "key of %d bits; the most that any sshd takes is %d", bits,
		    BITS_MAX);
	if (EVP_PKEY_is_a(pkey, "RSA"))
		return convert_rsa(pkey, o);
	if (EVP_PKEY_is_a(pkey, "DSA"))
		return convert_dsa(pkey, o);
	if (EVP_PKEY_is_a(pkey, "EC"))
		return convert_ec(pkey, o);
	if (EVP_PKEY_is_a(pkey, "ED25519"))
		return convert_point(pkey, KV_KEY_ED25519, o);
	if (EVP_PKEY_is_a(pkey, "ED448"))
		return convert_point(pkey, KV_KEY_ED448, o);
	return convert_other(pkey, "", o);
}

/* The algorithms that OpenSSL knows: if it rejects a key, it is malformed. */
static bool
is_known(const ASN1_OBJECT *algorithm)
{
	switch (OBJ_obj2nid(algorithm)) {
	case NID_rsaEncryption:
	case NID_rsassaPss:
	case NID_dsa:
	case NID_X9_62_id_ecPublicKey:
	case NID_ED25519:
	case NID_ED448:
	case NID_X25519:
	case NID_X448:
		return true;
	default:
		return false;
	}
}

/* Takes the SPKI unchanged, since this OpenSSL does not know its type. */
static bool
convert_unknown(X509_PUBKEY *spki, const ASN1_OBJECT *algorithm,
    struct kv_span raw, const struct pem_out *o)
{
	char name[KV_KEYTYPE_NAME_BYTES];
	uint8_t *der = NULL;
	bool ok;
	int len;

	if (raw.len > UNKNOWN_MAX_BYTES)
		return pem_refuse(o,
		    "key of %zu bytes; the most that is looked at is %d",
		    raw.len, UNKNOWN_MAX_BYTES);
	OBJ_obj2txt(name, sizeof(name), algorithm, 0);
	set_type(o->key, name, "");
	len = i2d_X509_PUBKEY(spki, &der);
	ok = convert_spki(der, len, (unsigned int)raw.len * 8, o);
	OPENSSL_free(der);
	return ok;
}

/*
 * Tells if the algorithm is ML-DSA (FIPS 204) or ML-KEM (FIPS 203). Of these,
 * exact lists have the public key as it is.
 */
static bool
is_module_lattice(const char *oid)
{
	static const char *const oids[] = {
		"2.16.840.1.101.3.4.3.17", /* ML-DSA-44 */
		"2.16.840.1.101.3.4.3.18",
		"2.16.840.1.101.3.4.3.19",
		"2.16.840.1.101.3.4.4.1", /* ML-KEM-512 */
		"2.16.840.1.101.3.4.4.2",
		"2.16.840.1.101.3.4.4.3",
	};

	for (size_t i = 0; i < sizeof(oids) / sizeof(oids[0]); i++) {
		if (strcmp(oid, oids[i]) == 0)
			return true;
	}
	return false;
}

static bool
convert_x509_pubkey(X509_PUBKEY *spki, const struct pem_out *o)
{
	struct blob b;
	char oid[32];
	ASN1_OBJECT *algorithm;
	const unsigned char *p;
	EVP_PKEY *pkey;
	int len;

	if (!X509_PUBKEY_get0_param(&algorithm, &p, &len, NULL, spki))
		return refuse_openssl(o);
	OBJ_obj2txt(oid, sizeof(oid), algorithm, 1);
	if (strcmp(oid, OID_MLDSA44_ED25519) == 0) {
		b = start_blob(KV_KEY_MLDSA44_ED25519);
		put_string(&b, p, (size_t)len);
		return convert_built(&b, o);
	}
	if (is_module_lattice(oid)) {
		kv_blocklist_hash_bytes((struct kv_span){ p, (size_t)len },
		    &o->key->hash);
		o->key->has_hash = true;
	}
	if ((pkey = X509_PUBKEY_get0(spki)) != NULL)
		return convert_pkey(pkey, o);
	if (is_known(algorithm))
		return refuse_malformed(o, "public key");
	return convert_unknown(spki, algorithm,
	    (struct kv_span){ p, (size_t)len }, o);
}

static bool
read_spki(struct kv_span der, const struct pem_out *o)
{
	X509_PUBKEY *spki = X509_PUBKEY_new_ex(pem_openssl_context(), NULL);
	const unsigned char *p = der.p;
	bool ok = d2i_X509_PUBKEY(&spki, &p, (long)der.len) != NULL ?
	    convert_x509_pubkey(spki, o) :
	    refuse_malformed(o, "public key");

	X509_PUBKEY_free(spki);
	return ok;
}

static bool
read_certificate(struct kv_span der, const struct pem_out *o)
{
	X509 *cert = X509_new_ex(pem_openssl_context(), NULL);
	const unsigned char *p = der.p;
	bool ok = d2i_X509(&cert, &p, (long)der.len) != NULL ?
	    convert_x509_pubkey(X509_get_X509_PUBKEY(cert), o) :
	    refuse_malformed(o, "X.509 certificate");

	X509_free(cert);
	return ok;
}

static bool
read_request(struct kv_span der, const struct pem_out *o)
{
	X509_REQ *req = X509_REQ_new_ex(pem_openssl_context(), NULL);
	const unsigned char *p = der.p;
	bool ok = d2i_X509_REQ(&req, &p, (long)der.len) != NULL ?
	    convert_x509_pubkey(X509_REQ_get_X509_PUBKEY(req), o) :
	    refuse_malformed(o, "certificate request");

	X509_REQ_free(req);
	return ok;
}

/* Keeps OpenSSL from asking for a passphrase. No input here is encrypted. */
static int
no_passphrase(char *buf, int size, int rwflag, void *arg)
{
	(void)buf;
	(void)size;
	(void)rwflag;
	(void)arg;
	return -1;
}

/* Reads a key in the form that only its type has. */
static bool
read_typed(struct kv_span der, const char *type, bool private,
    const struct pem_out *o)
{
	const char *half = private ? "private" : "public";
	const unsigned char *p = der.p;
	size_t left = der.len;
	OSSL_DECODER_CTX *ctx;
	EVP_PKEY *pkey = NULL;
	bool ok;

	if (private && der.len > PRIVATE_MAX_BYTES)
		return pem_refuse(o, "%s private key is too long", type);
	ctx = OSSL_DECODER_CTX_new_for_pkey(&pkey, "DER", "type-specific", type,
	    private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY,
	    pem_openssl_context(), NULL);
	if (ctx == NULL ||
	    !OSSL_DECODER_CTX_set_pem_password_cb(ctx, no_passphrase, NULL))
		ok = refuse_openssl(o);
	else if (!OSSL_DECODER_from_data(ctx, &p, &left))
		ok = pem_refuse(o, "%s %s key is malformed", type, half);
	else
		ok = convert_pkey(pkey, o);
	EVP_PKEY_free(pkey);
	OSSL_DECODER_CTX_free(ctx);
	return ok;
}

/* Reads known types only: OpenSSL may be slow with others, as DH. */
static bool
read_pkcs8(struct kv_span der, const struct pem_out *o)
{
	const unsigned char *p = der.p;
	PKCS8_PRIV_KEY_INFO *info = NULL;
	const ASN1_OBJECT *algorithm;
	char name[KV_KEYTYPE_NAME_BYTES];
	EVP_PKEY *pkey = NULL;
	const unsigned char *x;
	int x_len;
	bool ok;

	if (der.len > PRIVATE_MAX_BYTES)
		return pem_refuse(o, "private key is too long");
	info = d2i_PKCS8_PRIV_KEY_INFO(NULL, &p, (long)der.len);
	if (info == NULL) {
		ok = refuse_malformed(o, "private key");
	} else if (!PKCS8_pkey_get0(&algorithm, &x, &x_len, NULL, info)) {
		ok = refuse_openssl(o);
	} else if (!is_known(algorithm)) {
		OBJ_obj2txt(name, sizeof(name), algorithm, 0);
		ok = pem_refuse(o,
		    "private key of a type unknown here (%s): "
		    "give its public key instead",
		    name);
	} else if (OBJ_obj2nid(algorithm) == NID_dsa &&
	    (der.len > DSA_PRIVATE_MAX_BYTES || x_len > DSA_X_MAX_BYTES)) {
		ok = pem_refuse(o, "private key is too long");
	} else {
		pkey = EVP_PKCS82PKEY_ex(info, pem_openssl_context(), NULL);
		ok = pkey != NULL ? convert_pkey(pkey, o) :
				    refuse_malformed(o, "private key");
	}
	EVP_PKEY_free(pkey);
	PKCS8_PRIV_KEY_INFO_free(info);
	return ok;
}

bool
pem_read_openssl(enum pem_form form, struct kv_span der,
    const struct pem_out *o)
{
	bool ok = false;

	switch (form) {
	case PEM_SPKI:
		ok = read_spki(der, o);
		break;
	case PEM_CERTIFICATE:
		ok = read_certificate(der, o);
		break;
	case PEM_REQUEST:
		ok = read_request(der, o);
		break;
	case PEM_PKCS8:
		ok = read_pkcs8(der, o);
		break;
	case PEM_RSA_PUBLIC:
		ok = read_typed(der, "RSA", false, o);
		break;
	case PEM_RSA:
		ok = read_typed(der, "RSA", true, o);
		break;
	case PEM_DSA:
		ok = read_typed(der, "DSA", true, o);
		break;
	case PEM_EC:
		ok = read_typed(der, "EC", true, o);
		break;
	default:
		break;
	}
	ERR_clear_error();
	return ok;
}
