/* SPDX-License-Identifier: ISC */
/*
 * Each key blob that parses has an SPKI. OpenSSL reads the SPKI and writes the
 * same bytes.
 */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <string.h>

#include "fuzz.h"
#include "kv_blocklist.h"
#include "kv_fingerprint.h"
#include "kv_spki.h"

/*
 * Not for ML-DSA, which OpenSSL 3.0 does not know. OpenSSL accepts an empty
 * integer.
 */
static void
compare_with_openssl(const struct kv_pubkey *key, const uint8_t *spki,
    size_t len)
{
	const uint8_t *p = spki;
	uint8_t *again = NULL;
	EVP_PKEY *pkey = d2i_PUBKEY(NULL, &p, (long)len);

	/*
	 * A point that is off its curve is sshd's to refuse: see kv_sshkey.h.
	 */
	if (pkey != NULL) {
		int n = i2d_PUBKEY(pkey, &again);

		FUZZ_CHECK(p == spki + len);
		FUZZ_CHECK(n == (int)len && memcmp(again, spki, len) == 0);
	} else
		FUZZ_CHECK(key->type != KV_KEY_RSA &&
		    key->type != KV_KEY_ED25519 &&
		    key->type != KV_KEY_SK_ED25519 &&
		    key->type != KV_KEY_ED448);
	OPENSSL_free(again);
	EVP_PKEY_free(pkey);
	ERR_clear_error();
}

static void
check_key(const struct kv_pubkey *key)
{
	static uint8_t spki[KV_SPKI_MAX_BYTES];
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_blocklist_hash hash;
	char text[KV_FINGERPRINT_BYTES];
	size_t len;

	if (key->type == KV_KEY_NONE)
		return;
	for (size_t i = 0; i < kv_spki_count(key); i++) {
		FUZZ_CHECK(
		    kv_spki_encode(key, i, spki, sizeof(spki), &len) == KV_OK);
		if (key->type != KV_KEY_MLDSA44_ED25519 &&
		    key->type != KV_KEY_MLDSA44_ED25519_OLD)
			compare_with_openssl(key, spki, len);
		FUZZ_CHECK(kv_spki_encode(key, i, spki, len - 1, &len) ==
		    KV_ERR_NO_SPACE);
	}
	(void)!kv_spki_encode_compressed(key, spki, sizeof(spki), &len);
	for (size_t i = 0; i < kv_blocklist_hash_count(key); i++)
		kv_blocklist_hash_key(key, i, &hash);
	for (size_t i = 0; i < kv_fingerprint_kin_count(key); i++)
		kv_fingerprint_kin(key, i, digest);
	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, text);
	FUZZ_CHECK(kv_fingerprint_parse((struct kv_span){ (uint8_t *)text,
					    strlen(text) },
		       digest) == KV_OK);
	FUZZ_CHECK(kv_pubkey_equal(key, key));
	(void)kv_pubkey_bits(key);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kv_sshkey key;

	if (kv_sshkey_parse(data, size, &key) == KV_OK)
		FUZZ_CHECK(key.key.type != KV_KEY_NONE &&
		    key.is_cert == (key.ca.type != KV_KEY_NONE));
	check_key(&key.key);
	check_key(&key.ca);
	return 0;
}
