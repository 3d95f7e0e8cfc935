/* SPDX-License-Identifier: ISC */
#include "proof/key.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "keys/pem_forms.h"
#include "kv_spki.h"

bool
proof_refuse(char why[static PROOF_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, PROOF_WHY_BYTES, fmt, ap);
	va_end(ap);
	return false;
}

void
proof_id_format(const uint8_t digest[static KV_SHA256_BYTES],
    char id[static PROOF_ID_BYTES])
{
	for (size_t i = 0; i < KV_SHA256_BYTES; i++)
		snprintf(id + 2 * i, 3, "%02x", digest[i]);
}

static void
add_id(struct proof_key *key, const uint8_t *spki, size_t len)
{
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest_blob(spki, len, digest);
	proof_id_format(digest, key->id[key->n_ids++]);
}

static bool
is_provable(const struct proof_key *key, char why[static PROOF_WHY_BYTES])
{
	enum kv_keytype type = key->pem.ssh.key.type;

	switch (type) {
	case KV_KEY_RSA:
		return EVP_PKEY_get_bits(key->pkey) >= PROOF_RSA_BITS_MIN ||
		    proof_refuse(why,
			"proofs of RSA keys below %d bits are worth nothing "
			"(this has %d): they can be broken to make one",
			PROOF_RSA_BITS_MIN, EVP_PKEY_get_bits(key->pkey));
	case KV_KEY_ECDSA_P256:
	case KV_KEY_ECDSA_P384:
	case KV_KEY_ECDSA_P521:
	case KV_KEY_ED25519:
	case KV_KEY_ED448:
		return true;
	default:
		return proof_refuse(why,
		    "the compromise of a key of type %s cannot be proved",
		    type != KV_KEY_NONE ? kv_keytype_name(type) :
					  key->pem.type);
	}
}

bool
proof_key_read(struct kv_span spki, struct proof_key *key,
    char why[static PROOF_WHY_BYTES])
{
	uint8_t buf[KV_SPKI_MAX_BYTES];
	const unsigned char *p = buf;
	const struct kv_pubkey *pub = &key->pem.ssh.key;
	const struct pem_out out = { &key->pem, why, PROOF_WHY_BYTES };
	size_t len;

	*key = (struct proof_key){ .n_ids = 0 };
	why[0] = '\0';
	if (!pem_read_form(PEM_SPKI, spki, &out))
		goto fail;
	if (kv_spki_encode(pub, 0, buf, sizeof(buf), &len) != KV_OK) {
		(void)is_provable(key, why);
		goto fail;
	}
	add_id(key, buf, len);
	key->pkey = d2i_PUBKEY_ex(NULL, &p, (long)len, pem_openssl_context(),
	    NULL);
	if (key->pkey == NULL) {
		/* Of a type that this OpenSSL does not know. */
		if (is_provable(key, why))
			(void)proof_refuse(why,
			    "OpenSSL cannot decode this key");
		goto fail;
	}
	if (!is_provable(key, why))
		goto fail;
	if (kv_spki_encode_compressed(pub, buf, sizeof(buf), &len) == KV_OK)
		add_id(key, buf, len);
	ERR_clear_error();
	return true;
fail:
	ERR_clear_error();
	proof_key_free(key);
	return false;
}

void
proof_key_free(struct proof_key *key)
{
	EVP_PKEY_free(key->pkey);
	pem_key_free(&key->pem);
	*key = (struct proof_key){ .n_ids = 0 };
}

bool
proof_key_has_id(const struct proof_key *key, const char *id)
{
	for (size_t i = 0; i < key->n_ids; i++) {
		if (strcmp(key->id[i], id) == 0)
			return true;
	}
	return false;
}
