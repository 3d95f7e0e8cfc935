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

/* Readers, one for each form. False with a reason. */
typedef bool (*pem_read_fn)(struct kv_span data, const struct pem_out *o);
bool pem_read_spki(struct kv_span der, const struct pem_out *o);
bool pem_read_pkcs1(struct kv_span der, const struct pem_out *o);
bool pem_read_pkcs8(struct kv_span der, const struct pem_out *o);
bool pem_read_rsa_private(struct kv_span der, const struct pem_out *o);
bool pem_read_dsa_private(struct kv_span der, const struct pem_out *o);
bool pem_read_ec_private(struct kv_span der, const struct pem_out *o);
bool pem_read_certificate(struct kv_span der, const struct pem_out *o);
bool pem_read_request(struct kv_span der, const struct pem_out *o);

/* Refuses a form whose public half is encrypted, too. */
bool pem_refuse_encrypted(const struct pem_out *o);

#endif
