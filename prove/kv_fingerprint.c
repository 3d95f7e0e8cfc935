/* SPDX-License-Identifier: ISC */
/*
 * SHA-256 is not computed here: what it is given is what is proved.
 *
 * source lib/kv_fingerprint.c lib/kv_base64.c lib/kv_keytype.c lib/kv_bytes.c
 * proof  put [quick] --no-conversion-check --unwind 40: keys of every type, fields of any length
 * proof  kin [quick] --unwind 40: keys of every type
 * proof  text [quick] --replace kv_base64_encode_unpadded:any_encode --replace kv_base64_decode:any_decode --unwind 50: every digest, written and read back, if kv_base64 inverts
 * proof  parse [quick] --replace kv_base64_decode:any_decode --unwind 50: texts of up to TEXT bytes, any answer of what decodes
 */
#define TEXT 52

#include "kv_fingerprint.h"

#include <sys/types.h>

#include <sha2.h>
#include <string.h>

#include "prove.h"

static struct kv_pubkey key;
static size_t pieces, total, promised;

/* Each piece must be memory of the key, or of a constant. */
static void
note(const void *p, size_t len, void *arg)
{
	PROVE(len == 0 || __CPROVER_r_ok(p, len), "bytes that are there");
	PROVE(arg == &pieces, "the caller's argument");
	/* A string is its length, in four bytes, and its content. */
	if (promised == 0) {
		const uint8_t *b = p;

		if (len != 4)
			PROVE(len == 0, "a length of four bytes");
		else
			promised = b[0] * 0x1000000U + b[1] * 0x10000U +
			    b[2] * 0x100U + b[3];
	} else {
		PROVE(len <= promised, "no more than the length says");
		promised -= len;
	}
	total += len;
}

static struct kv_span
any_span(size_t max)
{
	size_t len = any_size_up_to(max);

	return (struct kv_span){ any_bytes(len), len };
}

void
put(void)
{
	key.type = (enum kv_keytype)(
	    1 + any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD - 1));
	for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++)
		key.field[i] = any_span(1 << 16);
	key.application = any_span(1 << 16);
	kv_fingerprint_put(&key, note, &pieces);
	PROVE(promised == 0, "every string is whole");
	PROVE(total > 8, "never nothing");
}

/* Other public keys with the same private half are read in bounds. */
void
kin(void)
{
	uint8_t digest[KV_SHA256_BYTES];
	size_t count;

	key.type = (enum kv_keytype)any_size_up_to(KV_KEY_MLDSA44_ED25519_OLD);
	for (size_t i = 0; i < KV_PUBKEY_FIELDS; i++)
		key.field[i] = any_span(8);
	count = kv_fingerprint_kin_count(&key);
	PROVE(count <= 7, "a few");
	PROVE((count == 0) ==
		(key.type != KV_KEY_RSA && key.type != KV_KEY_MLDSA44_ED25519 &&
		    key.type != KV_KEY_MLDSA44_ED25519_OLD),
	    "of the types that have any");
	GIVEN(count > 0);
	kv_fingerprint_kin(&key, any_size_up_to(count - 1), digest);
}

/* The text that stands for a digest; a byte of the text, and one of the digest. */
static const char *given;
static size_t which_char, which;
static char character;
static uint8_t byte;
static bool decoded;

/* Instead of kv_base64_encode_unpadded. */
void
any_encode(const uint8_t *in, size_t len, char *out)
{
	PROVE(len == KV_SHA256_BYTES && in[which] == byte, "the digest");
	out[43] = '\0';
	out[which_char] = character;
}

/* Instead of kv_base64_decode: whatever was encoded has this byte. */
enum kv_err
any_decode(const char *in, size_t len, uint8_t *out, size_t cap, size_t *lenp)
{
	PROVE(len == 44 && in[43] == '=', "padded as base64 is");
	PROVE(in[which_char] == given[7 + which_char],
	    "the text behind the prefix");
	PROVE(cap >= 33, "room for what 44 characters decode to");
	*lenp = any_size_up_to(33);
	if (which < *lenp)
		out[which] = byte;
	decoded = *lenp == KV_SHA256_BYTES && nondet_bool();
	return decoded || nondet_bool() ? KV_OK : KV_ERR_BASE64;
}

static void
choose(void)
{
	which = any_size_up_to(KV_SHA256_BYTES - 1);
	which_char = any_size_up_to(42);
	byte = nondet_byte();
	character = nondet_char();
}

void
text(void)
{
	uint8_t digest[KV_SHA256_BYTES], again[KV_SHA256_BYTES];
	char written[KV_FINGERPRINT_BYTES];
	struct kv_span s = { (const uint8_t *)written, sizeof(written) - 1 };
	enum kv_err r;

	choose();
	GIVEN(digest[which] == byte);
	kv_fingerprint_format(digest, written);
	PROVE(memcmp(written, "SHA256:", 7) == 0, "as ssh-keygen prints it");
	PROVE(written[7 + which_char] == character, "then the digest");
	PROVE(written[sizeof(written) - 1] == '\0', "ends");
	given = written;
	r = kv_fingerprint_parse(s, again);
	PROVE(!decoded || r == KV_OK, "reads what it wrote");
	PROVE(r != KV_OK || again[which] == byte, "the same digest");
}

void
parse(void)
{
	size_t len = any_size_up_to(TEXT);
	struct kv_span s = { any_end(TEXT, len), len };
	uint8_t digest[KV_SHA256_BYTES];

	choose();
	given = (const char *)s.p;
	if (kv_fingerprint_parse(s, digest) != KV_OK)
		return;
	PROVE(len == 7 + 43 && memcmp(s.p, "SHA256:", 7) == 0,
	    "a whole fingerprint");
	PROVE(digest[which] == byte, "the digest that it says");
}

void
SHA256Init(SHA2_CTX *ctx)
{
}

void
SHA256Update(SHA2_CTX *ctx, const uint8_t *p, size_t len)
{
}

void
SHA256Final(uint8_t digest[SHA256_DIGEST_LENGTH], SHA2_CTX *ctx)
{
}
