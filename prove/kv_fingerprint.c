/* SPDX-License-Identifier: ISC */
/*
 * SHA-256 is not computed here: what it is given is what is proved.
 *
 * source lib/kv_fingerprint.c lib/kv_base64.c lib/kv_keytype.c lib/kv_bytes.c
 * proof  put [quick] --no-conversion-check --unwind 40: keys of every type, fields of any length
 */
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
