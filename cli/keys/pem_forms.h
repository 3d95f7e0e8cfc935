/* SPDX-License-Identifier: ISC */
/*
 * keys/pem_forms: shared by the files behind keys/pem.h. pem.c parses blocks,
 * der.c recognises the form of bare DER, pem_ssh.c reads forms with an SSH blob
 * in them, pem_openssl.c those that OpenSSL decodes.
 */
#ifndef CLI_KEYS_PEM_FORMS_H
#define CLI_KEYS_PEM_FORMS_H

#include "keys/pem.h"

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

/* Sets the comment to text, cut to fit, and up to the first NUL. */
void pem_set_comment(struct pem_key *key, struct kv_span text);

/*
 * Removes the first line from text, and sets *linep to it without its line end
 * and without blanks at both ends. False at the end of the text.
 */
bool pem_next_line(struct kv_span *text, struct kv_span *linep);

/*
 * Splits a line "Name: value"; false, with both empty, if there is no colon.
 */
bool pem_split_header(struct kv_span line, struct kv_span *namep,
    struct kv_span *valuep);

/* Readers, one for each form. False with a reason. */
typedef bool (*pem_read_fn)(struct kv_span data, const struct pem_out *o);
bool pem_read_openssh(struct kv_span data, const struct pem_out *o);
bool pem_read_spki(struct kv_span der, const struct pem_out *o);
bool pem_read_pkcs1(struct kv_span der, const struct pem_out *o);
bool pem_read_pkcs8(struct kv_span der, const struct pem_out *o);
bool pem_read_rsa_private(struct kv_span der, const struct pem_out *o);
bool pem_read_dsa_private(struct kv_span der, const struct pem_out *o);
bool pem_read_ec_private(struct kv_span der, const struct pem_out *o);
bool pem_read_certificate(struct kv_span der, const struct pem_out *o);
bool pem_read_request(struct kv_span der, const struct pem_out *o);

/* Decodes base64 for a reader, and erases the decoded bytes afterwards. */
bool pem_decode_and_read(struct kv_span text, pem_read_fn read,
    const struct pem_out *o);

/*
 * pem_is_ppk: whether line is the first of a PuTTY key file. pem_read_ppk reads
 * the lines after it.
 */
bool pem_is_ppk(struct kv_span line);
bool pem_read_ppk(struct kv_span text, const struct pem_out *o);

/* Refuses a form whose public half is encrypted, too. */
bool pem_refuse_encrypted(const struct pem_out *o);

#endif
