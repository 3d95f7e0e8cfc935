/* SPDX-License-Identifier: ISC */
/*
 * proof/private_key: reads private keys in the forms of OpenSSL and OpenSSH.
 * OpenSSL decodes its own. ssh-keygen decrypts OpenSSH's, and converts them: a
 * process that reads one cannot start it, and says that it needs it.
 */
#ifndef CLI_PROOF_PRIVATE_KEY_H
#define CLI_PROOF_PRIVATE_KEY_H

#include "proof/key.h"

/* The zero value is a refusal. */
enum private_key_end {
	PRIVATE_KEY_REFUSED = 0, /* why says why */
	PRIVATE_KEY_READ,
	/* The key was written into next, which is to be read then: */
	PRIVATE_KEY_NEEDS_PASSPHRASE, /* with its passphrase */
	PRIVATE_KEY_NEEDS_KEYGEN,     /* once ssh-keygen has converted it */
	PRIVATE_KEY_NEEDS_BOTH,	      /* the same; it needs the passphrase */
};
#define PRIVATE_KEY_END_MAX PRIVATE_KEY_NEEDS_BOTH

struct private_key_file {
	int fd;
	int next;		/* an empty file, or the same as fd */
	const char *passphrase; /* NULL: it is not known */
	bool is_converted;	/* by ssh-keygen */
};

/*
 * Reads the private key in a file. The caller frees the key with EVP_PKEY_free.
 */
enum private_key_end private_key_read(const struct private_key_file *file,
    EVP_PKEY **pkeyp, char why[static PROOF_WHY_BYTES]);

#endif
