/* SPDX-License-Identifier: ISC */
#include "kv_sshkey.h"

#include <string.h>

/* sshkey.h: SSHKEY_CERT_MAX_PRINCIPALS */
#define CERT_MAX_PRINCIPALS 256
#define CERT_USER 1
#define CERT_HOST 2

#define POINT_UNCOMPRESSED 4

static enum kv_err
get_fixed(struct kv_bytes *b, size_t len, struct kv_span *sp)
{
	enum kv_err r;

	if ((r = kv_bytes_get_string(b, sp)) != KV_OK)
		return r;
	return sp->len == len ? KV_OK : KV_ERR_KEY_LENGTH;
}

static enum kv_err
get_rsa(struct kv_bytes *b, struct kv_pubkey *k)
{
	enum kv_err r;

	if ((r = kv_bytes_get_mpint(b, &k->field[0])) != KV_OK ||
	    (r = kv_bytes_get_mpint(b, &k->field[1])) != KV_OK)
		return r;
	return k->field[1].len > 0 ? KV_OK : KV_ERR_RSA_ZERO;
}

static enum kv_err
get_dsa(struct kv_bytes *b, struct kv_pubkey *k)
{
	enum kv_err r = KV_OK;

	for (size_t i = 0; r == KV_OK && i < 4; i++)
		r = kv_bytes_get_mpint(b, &k->field[i]);
	return r;
}

static enum kv_err
get_ecdsa(struct kv_bytes *b, struct kv_pubkey *k, bool any_curve)
{
	static const enum kv_keytype types[] = {
		KV_KEY_ECDSA_P256,
		KV_KEY_ECDSA_P384,
		KV_KEY_ECDSA_P521,
	};
	struct kv_span curve;
	enum kv_err r;

	if ((r = kv_bytes_get_name(b, &curve)) != KV_OK)
		return r;
	for (size_t i = 0; any_curve && i < 3; i++) {
		if (kv_span_is(curve, kv_keytype_curve(types[i])))
			k->type = types[i];
	}
	if (!kv_span_is(curve, kv_keytype_curve(k->type)))
		return KV_ERR_CURVE;
	if ((r = kv_bytes_get_string(b, &k->field[0])) != KV_OK)
		return r;
	/* sshbuf-getput-crypto.c:get_ec takes only uncompressed points. */
	if (k->field[0].len != kv_keytype_point_bytes(k->type) ||
	    k->field[0].p[0] != POINT_UNCOMPRESSED)
		return KV_ERR_POINT;
	return KV_OK;
}

static enum kv_err
get_mldsa44_ed25519(struct kv_bytes *b, struct kv_pubkey *k)
{
	struct kv_span both;
	enum kv_err r;

	if ((r = get_fixed(b, KV_MLDSA44_BYTES + KV_ED25519_BYTES, &both)) !=
	    KV_OK)
		return r;
	k->field[0] = (struct kv_span){ both.p, KV_MLDSA44_BYTES };
	k->field[1] = (struct kv_span){ both.p + KV_MLDSA44_BYTES,
		KV_ED25519_BYTES };
	return KV_OK;
}

/* Reads what follows the type's name in a blob. Sets *out only on success. */
static enum kv_err
get_fields(struct kv_bytes *b, enum kv_keytype type, bool any_curve,
    struct kv_pubkey *out)
{
	struct kv_pubkey k = { .type = type };
	enum kv_err r = KV_ERR_INTERNAL;

	switch (type) {
	case KV_KEY_RSA:
		r = get_rsa(b, &k);
		break;
	case KV_KEY_DSA:
		r = get_dsa(b, &k);
		break;
	case KV_KEY_ECDSA_P256:
	case KV_KEY_ECDSA_P384:
	case KV_KEY_ECDSA_P521:
		r = get_ecdsa(b, &k, any_curve);
		break;
	case KV_KEY_ED25519:
		r = get_fixed(b, KV_ED25519_BYTES, &k.field[0]);
		break;
	case KV_KEY_ED448:
		r = get_fixed(b, KV_ED448_BYTES, &k.field[0]);
		break;
	case KV_KEY_SK_ED25519:
		if ((r = get_fixed(b, KV_ED25519_BYTES, &k.field[0])) == KV_OK)
			r = kv_bytes_get_name(b, &k.application);
		break;
	case KV_KEY_SK_ECDSA_P256:
		if ((r = get_ecdsa(b, &k, false)) == KV_OK)
			r = kv_bytes_get_name(b, &k.application);
		break;
	case KV_KEY_MLDSA44_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		r = get_mldsa44_ed25519(b, &k);
		break;
	case KV_KEY_NONE:
		break;
	}
	if (r == KV_OK)
		*out = k;
	return r;
}

static enum kv_err
check_principals(struct kv_span principals)
{
	struct kv_bytes b = { principals.p, principals.len };
	struct kv_span name;

	for (size_t n = 0; b.left > 0; n++) {
		if (n >= CERT_MAX_PRINCIPALS ||
		    kv_bytes_get_name(&b, &name) != KV_OK)
			return KV_ERR_CERT_PRINCIPALS;
	}
	return KV_OK;
}

/* Checks critical options or extensions: pairs of strings. */
static enum kv_err
check_options(struct kv_span options)
{
	struct kv_bytes b = { options.p, options.len };
	struct kv_span s;

	while (b.left > 0) {
		if (kv_bytes_get_string(&b, &s) != KV_OK ||
		    kv_bytes_get_string(&b, &s) != KV_OK)
			return KV_ERR_CERT_OPTIONS;
	}
	return KV_OK;
}

/* Parses a CA's key, which must not be a certificate. */
static enum kv_err
parse_plain(struct kv_span blob, struct kv_pubkey *out)
{
	struct kv_bytes b = { blob.p, blob.len };
	const struct kv_keyname *kn;
	struct kv_span name;
	bool any_curve;
	enum kv_err r;

	if ((r = kv_bytes_get_name(&b, &name)) != KV_OK)
		return r;
	if ((kn = kv_keyname_find_in_blob(name, &any_curve)) == NULL)
		return KV_ERR_TYPE_UNKNOWN;
	if (kn->is_cert)
		return KV_ERR_CERT_CA;
	if ((r = get_fields(&b, kn->type, any_curve, out)) != KV_OK)
		return r;
	return b.left == 0 ? KV_OK : KV_ERR_TRAILING;
}

/*
 * Reads what follows the key in a certificate (PROTOCOL.certkeys): u64 serial,
 * u32 type, string key id, string principals, u64 valid after, u64 valid
 * before, string critical options, string extensions, string reserved, string
 * CA key, string signature.
 */
static enum kv_err
get_cert_body(struct kv_bytes *b, struct kv_pubkey *ca)
{
	struct kv_span id, principals, critical, extensions, skipped, blob;
	uint32_t type;
	enum kv_err r;

	if ((r = kv_bytes_skip(b, 8)) != KV_OK ||
	    (r = kv_bytes_get_u32(b, &type)) != KV_OK ||
	    (r = kv_bytes_get_name(b, &id)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &principals)) != KV_OK ||
	    (r = kv_bytes_skip(b, 16)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &critical)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &extensions)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &skipped)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &blob)) != KV_OK ||
	    (r = parse_plain(blob, ca)) != KV_OK ||
	    (r = kv_bytes_get_string(b, &skipped)) != KV_OK)
		return r;
	if (type != CERT_USER && type != CERT_HOST)
		return KV_ERR_CERT_TYPE;
	if ((r = check_principals(principals)) != KV_OK ||
	    (r = check_options(critical)) != KV_OK)
		return r;
	return check_options(extensions);
}

enum kv_err
kv_sshkey_parse(const uint8_t *blob, size_t len, struct kv_sshkey *key)
{
	struct kv_bytes b = { blob, len };
	const struct kv_keyname *kn;
	struct kv_span name, nonce;
	bool any_curve;
	enum kv_err r;

	*key = (struct kv_sshkey){ 0 };
	if ((r = kv_bytes_get_name(&b, &name)) != KV_OK)
		return r;
	if ((kn = kv_keyname_find_in_blob(name, &any_curve)) == NULL)
		return KV_ERR_TYPE_UNKNOWN;
	key->is_cert = kn->is_cert;
	if (key->is_cert && (r = kv_bytes_get_string(&b, &nonce)) != KV_OK)
		return r;
	if ((r = get_fields(&b, kn->type, any_curve, &key->key)) != KV_OK)
		return r;
	if (key->is_cert && (r = get_cert_body(&b, &key->ca)) != KV_OK)
		return r;
	return b.left == 0 ? KV_OK : KV_ERR_TRAILING;
}

bool
kv_pubkey_equal(const struct kv_pubkey *a, const struct kv_pubkey *b)
{
	if (a->type != b->type || a->type == KV_KEY_NONE)
		return false;
	for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++) {
		if (!kv_span_equal(a->field[i], b->field[i]))
			return false;
	}
	return kv_span_equal(a->application, b->application);
}

static unsigned int
integer_bits(struct kv_span n)
{
	unsigned int bits = (unsigned int)n.len * 8;

	for (unsigned int mask = 0x80; n.len > 0 && (n.p[0] & mask) == 0;
	     mask >>= 1)
		bits--;
	return bits;
}

unsigned int
kv_pubkey_bits(const struct kv_pubkey *key)
{
	switch (key->type) {
	case KV_KEY_RSA:
		return integer_bits(key->field[1]);
	case KV_KEY_DSA:
		return integer_bits(key->field[0]);
	case KV_KEY_ECDSA_P384:
		return 384;
	case KV_KEY_ECDSA_P521:
		return 521;
	case KV_KEY_ED448:
		return 456;
	case KV_KEY_ECDSA_P256:
	case KV_KEY_SK_ECDSA_P256:
	case KV_KEY_ED25519:
	case KV_KEY_SK_ED25519:
	case KV_KEY_MLDSA44_ED25519_OLD:
		return 256;
	case KV_KEY_MLDSA44_ED25519:
		return 512;
	case KV_KEY_NONE:
		break;
	}
	return 0;
}
