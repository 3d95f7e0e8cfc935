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
hash_u32(SHA2_CTX *ctx, size_t v)
{
	uint8_t b[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16),
		(uint8_t)(v >> 8), (uint8_t)v };

	SHA256Update(ctx, b, sizeof(b));
}

static void
hash_string(SHA2_CTX *ctx, const void *p, size_t len)
{
	hash_u32(ctx, len);
	SHA256Update(ctx, p, len);
}

/* On the wire a zero byte precedes an integer whose top bit is set. */
static void
hash_mpint(SHA2_CTX *ctx, struct kv_span n)
{
	static const uint8_t zero = 0;
	bool pad = n.len > 0 && (n.p[0] & 0x80) != 0;

	hash_u32(ctx, n.len + pad);
	SHA256Update(ctx, &zero, pad);
	SHA256Update(ctx, n.p, n.len);
}

void
kv_fingerprint_digest(const struct kv_pubkey *key,
    uint8_t digest[static KV_SHA256_BYTES])
{
	const char *name = kv_keytype_name(key->type);
	const char *curve = kv_keytype_curve(key->type);
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	hash_string(&ctx, name, strlen(name));
	if (curve != NULL)
		hash_string(&ctx, curve, strlen(curve));
	if (key->type == KV_KEY_RSA || key->type == KV_KEY_DSA) {
		for (size_t i = 0; i < (key->type == KV_KEY_RSA ? 2 : 4); i++)
			hash_mpint(&ctx, key->field[i]);
	} else {
		/* One string. The composite type's two fields are joined. */
		hash_u32(&ctx, key->field[0].len + key->field[1].len);
		SHA256Update(&ctx, key->field[0].p, key->field[0].len);
		SHA256Update(&ctx, key->field[1].p, key->field[1].len);
	}
	if (key->type == KV_KEY_SK_ED25519 || key->type == KV_KEY_SK_ECDSA_P256)
		hash_string(&ctx, key->application.p, key->application.len);
	SHA256Final(digest, &ctx);
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
