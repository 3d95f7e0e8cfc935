/* SPDX-License-Identifier: ISC */
#include "proof/attestation.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/x509.h>
#include <string.h>

#include "keys/der_element.h"
#include "keys/pem_forms.h"
#include "kv_spki.h"

/* CertificationRequestInfo's version (RFC 2986 section 4.1): 0. */
static const uint8_t version[] = { 0x02, 0x01, 0x00 };

/* SEQUENCE { SET { SEQUENCE { OID commonName, UTF8String } } } */
#define SUBJECT "kca=v1 This Key Is Compromised"
static const uint8_t subject[] = { 0x30, 0x29, 0x31, 0x27, 0x30, 0x25, 0x06,
	0x03, 0x55, 0x04, 0x03, 0x0c, 0x1e, 'k', 'c', 'a', '=', 'v', '1', ' ',
	'T', 'h', 'i', 's', ' ', 'K', 'e', 'y', ' ', 'I', 's', ' ', 'C', 'o',
	'm', 'p', 'r', 'o', 'm', 'i', 's', 'e', 'd' };

/*
 * [0] { SEQUENCE { OID extensionRequest, SET { SEQUENCE { SEQUENCE {
 * OID noSecurityAfforded, BOOLEAN TRUE (critical),
 * OCTET STRING { BOOLEAN TRUE } } } } } }
 */
static const uint8_t attributes[] = { 0xa0, 0x25, 0x30, 0x23, 0x06, 0x09, 0x2a,
	0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e, 0x31, 0x16, 0x30, 0x14,
	0x30, 0x12, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x17,
	0x01, 0x01, 0xff, 0x04, 0x03, 0x01, 0x01, 0xff };

/* The signature algorithms of a proof. */
static const struct algorithm {
	enum kv_keytype type;
	int nid[4];
} algorithms[] = {
	{ KV_KEY_RSA,
	    { NID_sha1WithRSAEncryption, NID_sha256WithRSAEncryption,
		NID_sha384WithRSAEncryption, NID_sha512WithRSAEncryption } },
#define ECDSA \
	{ \
		NID_ecdsa_with_SHA1, NID_ecdsa_with_SHA256, \
		    NID_ecdsa_with_SHA384, NID_ecdsa_with_SHA512 \
	}
	{ KV_KEY_ECDSA_P256, ECDSA },
	{ KV_KEY_ECDSA_P384, ECDSA },
	{ KV_KEY_ECDSA_P521, ECDSA },
	{ KV_KEY_ED25519, { NID_ED25519 } },
	{ KV_KEY_ED448, { NID_ED448 } },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct algorithm *
find_algorithm(const struct proof_key *key)
{
	for (size_t i = 0; i < COUNT(algorithms); i++) {
		if (algorithms[i].type == key->pem.ssh.key.type)
			return &algorithms[i];
	}
	return NULL;
}

/* Moves b past these bytes. False if it begins otherwise. */
static bool
skip_bytes(struct kv_bytes *b, const uint8_t *p, size_t len)
{
	return b->left >= len && memcmp(b->p, p, len) == 0 &&
	    kv_bytes_skip(b, len) == KV_OK;
}

/*
 * Checks all of der but the signature, and sets *spkip to the SPKI in it. False
 * with a reason.
 */
static bool
read_contents(struct kv_span der, struct kv_span *spkip,
    char why[static PROOF_WHY_BYTES])
{
	struct kv_bytes all = { der.p, der.len }, request, info, skipped;

	if (!der_take(&all, DER_SEQUENCE, &request) ||
	    !der_take(&request, DER_SEQUENCE, &info))
		return proof_refuse(why, "no certificate request in DER");
	if (all.left > 0)
		return proof_refuse(why, "%zu bytes follow the request",
		    all.left);
	if (!skip_bytes(&info, version, sizeof(version)))
		return proof_refuse(why, "no certificate request, version 1");
	if (!skip_bytes(&info, subject, sizeof(subject)))
		return proof_refuse(why,
		    "a certificate request for another purpose: its subject is "
		    "not CN=" SUBJECT " alone");
	*spkip = (struct kv_span){ info.p, 0 };
	if (!der_take(&info, DER_SEQUENCE, &skipped))
		return proof_refuse(why, "no public key in it");
	spkip->len = (size_t)(info.p - spkip->p);
	if (!skip_bytes(&info, attributes, sizeof(attributes)) || info.left > 0)
		return proof_refuse(why,
		    "it does not ask for the one extension "
		    "NoSecurityAfforded, critical and TRUE, and nothing else");
	return true;
}

/* Whether the bytes are an SPKI of the key in one of its two usual forms. */
static bool
is_usual_spki(struct kv_span spki, const struct kv_pubkey *key)
{
	uint8_t buf[KV_SPKI_MAX_BYTES];
	struct kv_span usual = { buf, 0 };

	return (kv_spki_encode(key, 0, buf, sizeof(buf), &usual.len) == KV_OK &&
		   kv_span_equal(spki, usual)) ||
	    (kv_spki_encode_compressed(key, buf, sizeof(buf), &usual.len) ==
		    KV_OK &&
		kv_span_equal(spki, usual));
}

/* proof is the DER. */
static bool
is_signed(const void *proof, const struct proof_key *key,
    char why[static PROOF_WHY_BYTES])
{
	const struct kv_span der = *(const struct kv_span *)proof;
	const struct algorithm *a = find_algorithm(key);
	X509_REQ *req = X509_REQ_new_ex(pem_openssl_context(), NULL);
	const unsigned char *p = der.p;
	bool known = false, ok = false;
	int nid;

	if (a == NULL || d2i_X509_REQ(&req, &p, (long)der.len) == NULL ||
	    p != der.p + der.len) {
		proof_refuse(why, "OpenSSL cannot decode this request");
		goto out;
	}
	nid = X509_REQ_get_signature_nid(req);
	for (size_t i = 0; i < COUNT(a->nid); i++)
		known |= a->nid[i] != 0 && nid == a->nid[i];
	if (!known)
		proof_refuse(why,
		    "signed with an algorithm that proofs by a key of its type "
		    "do not have");
	else if (X509_REQ_verify_ex(req, key->pkey, pem_openssl_context(),
		     NULL) != 1)
		proof_refuse(why, "the key did not make this signature");
	else
		ok = true;
out:
	X509_REQ_free(req);
	ERR_clear_error();
	return ok;
}

bool
attestation_verify(struct kv_span der, struct proof_work *work,
    struct proof_key *key, char why[static PROOF_WHY_BYTES])
{
	struct kv_span spki = { NULL, 0 };
	uint8_t digest[KV_SHA256_BYTES];

	*key = (struct proof_key){ .n_ids = 0 };
	why[0] = '\0';
	work->over = false;
	if (der.len > ATTESTATION_MAX_BYTES)
		return proof_refuse(why,
		    "%zu bytes are more than any proof has", der.len);
	if (!read_contents(der, &spki, why) || !proof_work_begin(work, why))
		return false;
	if (!proof_key_read(spki, key, why)) {
		proof_work_count_bad(work);
		return false;
	}
	kv_fingerprint_digest_blob(der.p, der.len, digest);
	if (!is_usual_spki(spki, &key->pem.ssh.key)) {
		proof_refuse(why, "its public key is encoded in no usual form");
		proof_work_count_bad(work);
	} else if (proof_work_judge(work, digest, key, is_signed, &der, why))
		return true;
	proof_key_free(key);
	return false;
}
