/* SPDX-License-Identifier: ISC */
/*
 * The task "make-proof": signs with a private key that it is compromised.
 * cli/publish/make_proof.c wants it.
 */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "proof/attestation.h"
#include "proof/jws.h"
#include "proof/private_key.h"
#include "tasks.h"

/* What is made. The process ends with it. */
struct made {
	EVP_PKEY *private_half;
	struct proof_key key;
	char *jws; /* NULL: the key has none */
	char *request;
};

static bool
read_public_half(struct made *m, char why[static PROOF_WHY_BYTES])
{
	uint8_t *spki = NULL;
	const int len = i2d_PUBKEY(m->private_half, &spki);
	const bool ok = len > 0 ?
	    proof_key_read((struct kv_span){ spki, (size_t)len }, &m->key,
		why) :
	    proof_refuse(why, "OpenSSL cannot tell its public half");

	OPENSSL_free(spki);
	ERR_clear_error();
	return ok;
}

/* Makes the JWS, and verifies it as anybody will. */
static bool
make_jws(struct made *m, char why[static PROOF_WHY_BYTES])
{
	struct proof_work work = { .spent = 0 };
	struct jws jws;
	bool ok;

	if (!jws_has_form(&m->key))
		return true;
	m->jws = jws_make(&m->key, m->private_half, why);
	if (m->jws == NULL ||
	    !jws_read((struct kv_span){ (const uint8_t *)m->jws,
			  strlen(m->jws) },
		&jws, why))
		return false;
	ok = jws_is_signed_by(&jws, &m->key, &work, why);
	proof_work_free(&work);
	jws_free(&jws);
	return ok;
}

/* Returns the PEM of a request, for the caller to free, or NULL. */
static char *
to_pem(const uint8_t *der, size_t len)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL, *p;
	long n;

	if (bio != NULL &&
	    PEM_write_bio(bio, PEM_STRING_X509_REQ, "", der, (long)len) > 0 &&
	    (n = BIO_get_mem_data(bio, &p)) > 0)
		text = strndup(p, (size_t)n);
	BIO_free(bio);
	return text;
}

/* The same for the request. */
static bool
make_attestation(struct made *m, char why[static PROOF_WHY_BYTES])
{
	struct proof_work work = { .spent = 0 };
	struct proof_key key;
	uint8_t *der;
	size_t len;
	bool ok;

	der = attestation_make(&m->key, m->private_half, &len, why);
	if (der == NULL)
		return false;
	ok = attestation_verify((struct kv_span){ der, len }, &work, &key, why);
	proof_work_free(&work);
	if (ok)
		proof_key_free(&key);
	if (ok && (m->request = to_pem(der, len)) == NULL)
		ok = proof_refuse(why, "%s", kv_strerror(KV_ERR_MEMORY));
	free(der);
	return ok;
}

static bool
tell_proofs(const struct made *m)
{
	const struct kv_pubkey *key = &m->key.pem.ssh.key;
	uint8_t digest[KV_SHA256_BYTES];
	char fingerprint[KV_FINGERPRINT_BYTES];

	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, fingerprint);
	return task_tell(R_VALUE(PRIVATE_KEY_READ), R_STRING(""),
	    R_VALUE(key->type), R_VALUE(kv_pubkey_bits(key)),
	    R_TEXT(fingerprint), R_STRING(m->jws != NULL ? m->jws : ""),
	    R_STRING(m->request));
}

/*
 * A key, and a file for what the next task reads. What the task before needed:
 * enum private_key_end; and a passphrase, if it was that.
 */
bool
task_make_proof(struct task_work *t)
{
	static char passphrase[WORKING_TEXT_BYTES];
	char why[PROOF_WHY_BYTES] = "";
	struct made m = { .jws = NULL };
	struct private_key_file file = { .fd = t->fd[0], .next = t->fd[1] };
	enum private_key_end end;
	uint64_t needed;

	if (!record_get(&t->args, R_ANY(needed), R_TEXT(passphrase)))
		return false;
	file.is_converted = needed == PRIVATE_KEY_NEEDS_KEYGEN;
	file.passphrase = needed == PRIVATE_KEY_NEEDS_PASSPHRASE ?
	    passphrase :
	    NULL;
	end = private_key_read(&file, &m.private_half, why);
	if (end == PRIVATE_KEY_READ) {
		if (read_public_half(&m, why) && make_jws(&m, why) &&
		    make_attestation(&m, why))
			return tell_proofs(&m);
		end = PRIVATE_KEY_REFUSED;
	}
	return task_tell(R_VALUE(end), R_TEXT(why));
}
