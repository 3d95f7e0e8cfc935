/* SPDX-License-Identifier: ISC */
/*
 * testkeys: makes new keys in SSH's form and in OpenSSL's, and certificates,
 * good and unusual. It does not use the code under test.
 */
#ifndef TESTKEYS_H
#define TESTKEYS_H

#include "kv_keytype.h"
#include "testlib.h"

/* The publisher's two example keys, which the tests' filters list. */
extern const char rsa_line[], ec_line[];
/* What ssh-keygen -l prints for them. */
#define RSA_FP "SHA256:ckGCtrmftobnfcWdeQsHFxFmuqpWjN4sY82+nSydOfQ"
#define EC_FP "SHA256:K53UMHTBXbpvt4AJATggaF7h01viQrVV5tYANT9vpPs"

#define FIRST_TYPE KV_KEY_RSA
#define LAST_TYPE KV_KEY_MLDSA44_ED25519_OLD

/* What ssh-keygen -l of OpenSSH 10.6 prints for composite.pub. */
#define COMPOSITE_FINGERPRINT \
	"SHA256:YVP+is6TTsDTh/h4QOxOCMCDm7ywita4ZM4CT4mO6pU"
#define COMPOSITE_BITS 512

/* A buffer that the put functions append to. */
struct blob {
	size_t len;
	uint8_t p[24 * 1024];
};

void put(struct blob *b, const void *p, size_t len);
void put_blob(struct blob *b, const struct blob *what);
void put_u8(struct blob *b, unsigned int v);
void put_u32(struct blob *b, uint32_t v);
void put_u64(struct blob *b, uint64_t v);
/* Append an SSH string: a length, then the bytes. */
void put_string(struct blob *b, const void *p, size_t len);
void put_text(struct blob *b, const char *s);
/* Appends the bytes at p as a string, with pad zero bytes before them. */
void put_padded(struct blob *b, const void *p, size_t len, size_t pad);

/* A key in each of its forms. */
struct testkey {
	enum kv_keytype type;
	struct blob fields;  /* what follows the type's name */
	struct blob blob;    /* canonical */
	struct blob spki[3]; /* by OpenSSL */
	size_t n_spki;
	struct blob compressed; /* EC only */
};

/* Makes a new key. RSA has 2048 bits, DSA 1024. */
void testkey_new(struct testkey *k, enum kv_keytype type);
/*
 * Makes an RSA key with a modulus of exactly bits bits and a random exponent.
 * Both may be even: it may be a key that needs no secret.
 */
void testkey_rsa(struct testkey *k, size_t bits);
void testkey_rsa_numbers(struct testkey *k, const uint8_t *e, size_t e_len,
    const uint8_t *n, size_t n_len);
/* Makes a DSA key of random numbers of exactly so many bits. */
void testkey_dsa(struct testkey *k, size_t p_bits, size_t q_bits);
/* Makes a security key with the numbers of another key. */
void testkey_sk(struct testkey *k, const struct testkey *plain,
    const char *application);

/* Return "type base64". */
char *testkey_line(const struct testkey *k);
char *line_of(const char *type, const struct blob *b);
/* The name of the type at the start of a blob. */
char *name_in(const struct blob *b);
/* The name of the certificate type of a plain type. */
char *cert_name_of(const char *plain);
/* A line that ssh-keygen of OpenSSH 10.6 made: see testdata/openssh-10.6. */
char *line_of_openssh_10_6(const char *name);
/* Decodes the blob of "type base64" with OpenSSL. */
void blob_of_line(const char *line, struct blob *b);

/* The parts of a certificate, in their order. */
struct testcert {
	struct blob name; /* with its NULs, if any */
	const struct blob *fields;
	uint32_t kind;
	struct blob key_id, principals, critical, extensions;
	struct blob ca;
	/*
	 * Set by cert_build: the length of the blob up to the end of each key.
	 */
	size_t key_end, ca_end;
};

/* Fills in a good user certificate of k by ca. Its signature is not valid. */
void testcert_init(struct testcert *c, const struct testkey *k,
    const struct testkey *ca);
void cert_build(struct testcert *c, struct blob *out);
/* Does both. */
void testcert_new(struct blob *out, const struct testkey *k,
    const struct testkey *ca);

#endif
