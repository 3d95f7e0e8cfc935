/* SPDX-License-Identifier: ISC */
/*
 * keys/pem_forms: shared by the files behind keys/pem.h. pem.c parses blocks,
 * and reads forms with an SSH blob in them, der.c recognises the form of bare
 * DER, pem_openssl.c reads what OpenSSL decodes.
 */
#ifndef CLI_KEYS_PEM_FORMS_H
#define CLI_KEYS_PEM_FORMS_H

#include <openssl/types.h>

#include "keys/pem.h"

/*
 * OpenSSL's context for keyveto: openssl.cnf may load any engine into the
 * default one. Never freed.
 */
OSSL_LIB_CTX *pem_openssl_context(void);

/* Where a reader stores the key, or in why (cap bytes) why there is none. */
struct pem_out {
	struct pem_key *key;
	char *why;
	size_t cap;
};

/* Writes the reason into o->why. Always false, for a reader to return. */
bool pem_refuse(const struct pem_out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Copies an SSH blob into o->key and parses it. False with a reason. */
bool pem_copy_blob(struct kv_span blob, const struct pem_out *o);

enum pem_form {
	PEM_BLOB, /* of SSH */
	PEM_OPENSSH,
	PEM_KEYLESS,	  /* it may stand beside keys, but never holds one */
	PEM_ENCRYPTED,	  /* its public half, too */
	PEM_SSH2_PRIVATE, /* of the program from ssh.com */
	/* OpenSSL decodes these. */
	PEM_SPKI,
	PEM_CERTIFICATE,
	PEM_REQUEST,
	PEM_PKCS8,
	PEM_RSA_PUBLIC, /* PKCS#1 */
	PEM_RSA,
	PEM_DSA,
	PEM_EC,
};

/* Reads a key in this form. False with a reason. */
bool pem_read_form(enum pem_form form, struct kv_span data,
    const struct pem_out *o);
bool pem_read_openssl(enum pem_form form, struct kv_span der,
    const struct pem_out *o);

#endif
