/* SPDX-License-Identifier: ISC */
/*
 * keys/pem_forms: what the files behind keys/pem.h share. keys/pem.c takes blocks
 * apart, keys/der.c tells kinds of bare DER apart; keys/pem_ssh.c reads what holds an
 * SSH blob, keys/pem_openssl.c what OpenSSL decodes.
 */
#ifndef CLI_KEYS_PEM_FORMS_H
#define CLI_KEYS_PEM_FORMS_H

#include "keys/pem.h"

/* Where a form's reader leaves the key, or the reason why there is none. */
struct pem_out {
	struct pem_key *key;
	char *why;
	size_t cap;
};

/* Writes the reason; always false, for a reader to return. */
bool pem_refuse(const struct pem_out *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Makes a copy of an SSH blob the key, if the library reads it whole.
 */
bool pem_take_blob(struct kv_span blob, const struct pem_out *o);

/* Sets the comment: its first bytes, and none after a NUL. */
void pem_set_comment(struct pem_key *key, struct kv_span text);

/*
 * Takes a line from the text, without what ends it and without blanks around
 * it; false at the end of the text.
 */
bool pem_next_line(struct kv_span *text, struct kv_span *linep);

/*
 * Splits a line "Name: value"; false, with both empty, if there is no colon.
 */
bool pem_split_header(struct kv_span line, struct kv_span *namep,
    struct kv_span *valuep);

/* A reader of one form, and those there are. */
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

/* Decodes base64 for a reader, and leaves nothing of it in memory. */
bool pem_decode_and_read(struct kv_span text, pem_read_fn read,
    const struct pem_out *o);

/* The first line of a PuTTY key file; and its reader, for the lines below. */
bool pem_is_ppk(struct kv_span line);
bool pem_read_ppk(struct kv_span text, const struct pem_out *o);

/* What all encrypted forms but OpenSSH's and PuTTY's are refused with. */
bool pem_refuse_encrypted(const struct pem_out *o);

#endif
