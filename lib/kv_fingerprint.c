/* SPDX-License-Identifier: ISC */
#include "kv_fingerprint.h"

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <sha2.h>
#include <string.h>

#include "kv_base64.h"

#define PREFIX "SHA256:"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define DIGEST_CHARS 43

static void
put_u32(kv_put_fn put, void *arg, size_t v)
{
	uint8_t b[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
		(uint8_t)(v >> 8), (uint8_t)v };

	put(b, sizeof(b), arg);
}

static void
put_string(kv_put_fn put, void *arg, const void *p, size_t len)
{
	put_u32(put, arg, len);
	put(p, len, arg);
}

/* On the wire a zero byte precedes an integer whose top bit is set. */
static void
put_mpint(kv_put_fn put, void *arg, struct kv_span n)
{
	static const uint8_t zero = 0;
	bool pad = n.len > 0 && (n.p[0] & 0x80) != 0;

	put_u32(put, arg, n.len + pad);
	put(&zero, pad, arg);
	put(n.p, n.len, arg);
}

void
kv_fingerprint_put(const struct kv_pubkey *key, kv_put_fn put, void *arg)
{
	const char *name = kv_keytype_name(key->type);
	const char *curve = kv_keytype_curve(key->type);

	put_string(put, arg, name, strlen(name));
	if (curve != NULL)
		put_string(put, arg, curve, strlen(curve));
	if (key->type == KV_KEY_RSA || key->type == KV_KEY_DSA) {
		for (size_t i = 0; i < (key->type == KV_KEY_RSA ? 2 : 4); i++)
			put_mpint(put, arg, key->field[i]);
	} else {
		/* One string. The composite type's two fields are joined. */
		put_u32(put, arg, key->field[0].len + key->field[1].len);
		put(key->field[0].p, key->field[0].len, arg);
		put(key->field[1].p, key->field[1].len, arg);
	}
	if (key->type == KV_KEY_SK_ED25519 || key->type == KV_KEY_SK_ECDSA_P256)
		put_string(put, arg, key->application.p, key->application.len);
}

static void
update(const void *p, size_t len, void *arg)
{
	SHA256Update(arg, p, len);
}

void
kv_fingerprint_digest(const struct kv_pubkey *key,
    uint8_t digest[static KV_SHA256_BYTES])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	kv_fingerprint_put(key, update, &ctx);
	SHA256Final(digest, &ctx);
}

/* 65537; 35 of OpenSSH before 5.4; 37 of PuTTY; 41 of libgcrypt; older ones. */
static const struct {
	uint8_t byte[3];
	size_t len;
} exponents[] = {
	{ { 1, 0, 1 }, 3 },
	{ { 35 }, 1 },
	{ { 37 }, 1 },
	{ { 41 }, 1 },
	{ { 17 }, 1 },
	{ { 5 }, 1 },
	{ { 3 }, 1 },
};

size_t
kv_fingerprint_kin_count(const struct kv_pubkey *key)
{
	if (key->type == KV_KEY_RSA)
		return sizeof(exponents) / sizeof(exponents[0]);
	return key->type == KV_KEY_MLDSA44_ED25519 ||
	    key->type == KV_KEY_MLDSA44_ED25519_OLD;
}

void
kv_fingerprint_kin(const struct kv_pubkey *key, size_t index,
    uint8_t digest[static KV_SHA256_BYTES])
{
	struct kv_pubkey kin = *key;

	if (key->type == KV_KEY_RSA)
		kin.field[0] = (struct kv_span){ exponents[index].byte,
			exponents[index].len };
	else if (key->type == KV_KEY_MLDSA44_ED25519)
		kin.type = KV_KEY_MLDSA44_ED25519_OLD;
	else
		kin.type = KV_KEY_MLDSA44_ED25519;
	kv_fingerprint_digest(&kin, digest);
}

void
kv_fingerprint_digest_blob(const uint8_t *blob, size_t len,
    uint8_t digest[static KV_SHA256_BYTES])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	SHA256Update(&ctx, blob, len);
	SHA256Final(digest, &ctx);
}

void
kv_fingerprint_format(const uint8_t digest[static KV_SHA256_BYTES],
    char text[static KV_FINGERPRINT_BYTES])
{
	memcpy(text, PREFIX, PREFIX_LEN);
	kv_base64_encode_unpadded(digest, KV_SHA256_BYTES, text + PREFIX_LEN);
}

enum kv_err
kv_fingerprint_parse(struct kv_span text,
    uint8_t digest[static KV_SHA256_BYTES])
{
	char padded[DIGEST_CHARS + 1];
	uint8_t out[KV_BASE64_DECODED_MAX(sizeof(padded))];
	size_t len;

	if (text.len != PREFIX_LEN + DIGEST_CHARS ||
	    memcmp(text.p, PREFIX, PREFIX_LEN) != 0)
		return KV_ERR_BASE64;
	memcpy(padded, text.p + PREFIX_LEN, DIGEST_CHARS);
	padded[DIGEST_CHARS] = '=';
	if (kv_base64_decode(padded, sizeof(padded), out, sizeof(out), &len) !=
		KV_OK ||
	    len != KV_SHA256_BYTES)
		return KV_ERR_BASE64;
	memcpy(digest, out, KV_SHA256_BYTES);
	return KV_OK;
}
