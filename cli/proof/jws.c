/* SPDX-License-Identifier: ISC */
#include "proof/jws.h"

#include <jansson.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "keys/pem_forms.h"
#include "kv_base64.h"

#define PAYLOAD_MAX_BYTES 1024
#define WORDS "key is pwned"

/* RFC 7518 section 3.1. half: the bytes of r, and of s; 0: RSA. */
struct jws_algorithm {
	const char *name;
	enum kv_keytype type;
	const char *digest;
	size_t half;
};
static const struct jws_algorithm algorithms[] = {
	{ "RS256", KV_KEY_RSA, "SHA256", 0 },
	{ "ES256", KV_KEY_ECDSA_P256, "SHA256", 32 },
	{ "ES384", KV_KEY_ECDSA_P384, "SHA384", 48 },
	{ "ES512", KV_KEY_ECDSA_P521, "SHA512", 66 },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- base64url without padding (RFC 7515 section 2) ---------------------- */

/*
 * Decodes the len characters of text. Returns the bytes for the caller to free,
 * with a NUL behind them, or NULL.
 */
static uint8_t *
decode(const char *text, size_t len, size_t *lenp)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t cap = KV_BASE64_DECODED_MAX(len + 3);
	char *copy;

	*lenp = 0;
	if (strspn(text, digits) != len || len % 4 == 1 ||
	    (copy = malloc(cap + len + 4)) == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++)
		copy[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
	while (len % 4 != 0)
		copy[len++] = '=';
	if (kv_base64_decode(copy, len, (uint8_t *)copy, cap, lenp) == KV_OK) {
		copy[*lenp] = '\0';
		return (uint8_t *)copy;
	}
	free(copy);
	return NULL;
}

/* --- reading ------------------------------------------------------------ */

/* Reads an object of exactly n members. NULL with a reason. */
static json_t *
load_object(const char *text, size_t len, size_t n, const char *what,
    char why[static PROOF_WHY_BYTES])
{
	json_error_t error;
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	if (object == NULL)
		proof_refuse(why, "%s: not JSON as it must be: %s", what,
		    error.text);
	else if (json_is_object(object) && json_object_size(object) == n)
		return object;
	else
		proof_refuse(why,
		    "%s: not a JSON object with the %zu members of a proof and "
		    "no other",
		    what, n);
	json_decref(object);
	return NULL;
}

/* Returns the text of a member, which must be there. NULL with a reason. */
static const char *
get_text(const json_t *object, const char *name,
    char why[static PROOF_WHY_BYTES])
{
	const char *text = json_string_value(json_object_get(object, name));

	if (text == NULL)
		proof_refuse(why, "there is no member %s, or it is no text",
		    name);
	return text;
}

/* As get_text, decoded, for the caller to free. */
static uint8_t *
get_bytes(const json_t *object, const char *name, size_t *lenp,
    char why[static PROOF_WHY_BYTES])
{
	const char *text = get_text(object, name, why);
	uint8_t *bytes;

	if (text == NULL)
		return NULL;
	if ((bytes = decode(text, strlen(text), lenp)) == NULL)
		proof_refuse(why, "%s is not base64url without padding", name);
	return bytes;
}

static const struct jws_algorithm *
find_algorithm(const char *name)
{
	for (size_t i = 0; i < COUNT(algorithms); i++) {
		if (strcmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	}
	return NULL;
}

static bool
read_header(const json_t *proof, struct jws *jws,
    char why[static PROOF_WHY_BYTES])
{
	const char *name, *id;
	json_t *header = NULL;
	uint8_t *text;
	size_t len;
	bool ok = false;

	if ((text = get_bytes(proof, "protected", &len, why)) == NULL ||
	    (header = load_object((const char *)text, len, 2, "protected",
		 why)) == NULL ||
	    (name = get_text(header, "alg", why)) == NULL ||
	    (id = get_text(header, "kid", why)) == NULL)
		goto out;
	if ((jws->algorithm = find_algorithm(name)) == NULL) {
		proof_refuse(why,
		    "signed with %.16s, which no proof is: RS256, ES256, ES384 "
		    "and ES512 are",
		    name);
	} else if (strlen(id) != PROOF_ID_BYTES - 1 ||
	    strspn(id, "0123456789abcdef") != PROOF_ID_BYTES - 1) {
		proof_refuse(why,
		    "kid is not a SHA-256 in lower-case hexadecimal");
	} else {
		memcpy(jws->id, id, PROOF_ID_BYTES);
		ok = true;
	}
out:
	json_decref(header);
	free(text);
	return ok;
}

static bool
read_payload(const json_t *proof, char why[static PROOF_WHY_BYTES])
{
	size_t len;
	uint8_t *payload = get_bytes(proof, "payload", &len, why);
	bool ok = false;

	if (payload == NULL)
		return false;
	if (len > PAYLOAD_MAX_BYTES)
		proof_refuse(why, "the payload has %zu bytes, more than %d",
		    len, PAYLOAD_MAX_BYTES);
	else if (memmem(payload, len, WORDS, strlen(WORDS)) == NULL)
		proof_refuse(why,
		    "the payload does not say \"" WORDS
		    "\": it was signed for another purpose");
	else
		ok = true;
	free(payload);
	return ok;
}

/* The signed text is that of both members, with a dot between them. */
static bool
copy_input(const json_t *proof, struct jws *jws,
    char why[static PROOF_WHY_BYTES])
{
	const char *header = get_text(proof, "protected", why);
	const char *payload = get_text(proof, "payload", why);

	if (header == NULL || payload == NULL)
		return false;
	jws->input_len = strlen(header) + 1 + strlen(payload);
	if ((jws->input = malloc(jws->input_len + 1)) == NULL)
		return proof_refuse(why, "%s", kv_strerror(KV_ERR_MEMORY));
	snprintf(jws->input, jws->input_len + 1, "%s.%s", header, payload);
	return true;
}

static bool
read_signature(const json_t *proof, struct jws *jws,
    char why[static PROOF_WHY_BYTES])
{
	size_t half = jws->algorithm->half;

	jws->signature = get_bytes(proof, "signature", &jws->signature_len,
	    why);
	if (jws->signature == NULL)
		return false;
	if (half > 0 && jws->signature_len != 2 * half)
		return proof_refuse(why,
		    "the signature has %zu bytes, not the %zu of r and s",
		    jws->signature_len, 2 * half);
	return true;
}

bool
jws_read(struct kv_span text, struct jws *jws, char why[static PROOF_WHY_BYTES])
{
	json_t *proof;
	bool ok;

	*jws = (struct jws){ .algorithm = NULL };
	why[0] = '\0';
	if (text.len > JWS_MAX_BYTES)
		return proof_refuse(why,
		    "%zu bytes are more than any proof has", text.len);
	proof = load_object((const char *)text.p, text.len, 3, "the proof",
	    why);
	if (proof == NULL)
		return false;
	ok = read_header(proof, jws, why) && read_payload(proof, why) &&
	    copy_input(proof, jws, why) && read_signature(proof, jws, why);
	if (!ok)
		jws_free(jws);
	json_decref(proof);
	return ok;
}

void
jws_free(struct jws *jws)
{
	free(jws->input);
	free(jws->signature);
	*jws = (struct jws){ .algorithm = NULL };
}

/* --- signatures --------------------------------------------------------- */

/*
 * OpenSSL has r and s of ECDSA in DER. Sets *derp to them, for OPENSSL_free.
 * Returns the length, or -1.
 */
static int
to_der(const uint8_t *signature, size_t half, uint8_t **derp)
{
	BIGNUM *r = BN_bin2bn(signature, (int)half, NULL);
	BIGNUM *s = BN_bin2bn(signature + half, (int)half, NULL);
	ECDSA_SIG *both = ECDSA_SIG_new();
	int len = -1;

	if (r == NULL || s == NULL || both == NULL ||
	    !ECDSA_SIG_set0(both, r, s)) {
		BN_free(r);
		BN_free(s);
	} else
		len = i2d_ECDSA_SIG(both, derp);
	ECDSA_SIG_free(both);
	return len;
}

/* proof is a struct jws. */
static bool
is_signed(const void *proof, const struct proof_key *key,
    char why[static PROOF_WHY_BYTES])
{
	const struct jws *jws = proof;
	const struct jws_algorithm *a = jws->algorithm;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t *der = NULL;
	const uint8_t *signature = jws->signature;
	size_t len = jws->signature_len;
	bool ok = ctx != NULL;
	int n;

	if (ok && a->half > 0) {
		ok = (n = to_der(signature, a->half, &der)) > 0;
		signature = der;
		len = ok ? (size_t)n : 0;
	}
	ok = ok &&
	    EVP_DigestVerifyInit_ex(ctx, NULL, a->digest, pem_openssl_context(),
		NULL, key->pkey, NULL) == 1 &&
	    EVP_DigestVerify(ctx, signature, len, (const uint8_t *)jws->input,
		jws->input_len) == 1;
	EVP_MD_CTX_free(ctx);
	OPENSSL_free(der);
	ERR_clear_error();
	return ok || proof_refuse(why, "the key did not make this signature");
}

/* Of what is signed, which names the key, and of the signature. */
static void
digest_jws(const struct jws *jws, uint8_t digest[static KV_SHA256_BYTES])
{
	uint8_t both[2 * KV_SHA256_BYTES];

	kv_fingerprint_digest_blob((const uint8_t *)jws->input, jws->input_len,
	    both);
	kv_fingerprint_digest_blob(jws->signature, jws->signature_len,
	    both + KV_SHA256_BYTES);
	kv_fingerprint_digest_blob(both, sizeof(both), digest);
}

bool
jws_is_signed_by(const struct jws *jws, const struct proof_key *key,
    struct proof_work *work, char why[static PROOF_WHY_BYTES])
{
	enum kv_keytype type = key->pem.ssh.key.type;
	uint8_t digest[KV_SHA256_BYTES];

	work->over = false;
	if (jws->algorithm == NULL)
		return proof_refuse(why, "no proof was read");
	if (type != jws->algorithm->type)
		return proof_refuse(why,
		    "signed with %s, which is not of the type of the key, %s",
		    jws->algorithm->name, kv_keytype_name(type));
	if (!proof_key_has_id(key, jws->id))
		return proof_refuse(why,
		    "it is about another key: its kid is %s", jws->id);
	digest_jws(jws, digest);
	return proof_work_judge(work, digest, key, is_signed, jws, why);
}

bool
jws_verify(struct kv_span text, struct kv_span spki,
    char why[static PROOF_WHY_BYTES])
{
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	struct jws jws;
	bool ok;

	if (!jws_read(text, &jws, why))
		return false;
	ok = proof_key_read(spki, &key, why);
	if (ok) {
		ok = jws_is_signed_by(&jws, &key, &work, why);
		proof_key_free(&key);
	}
	proof_work_free(&work);
	jws_free(&jws);
	return ok;
}
