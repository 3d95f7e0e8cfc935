/* SPDX-License-Identifier: ISC */
/*
 * proof/private_key: reads private keys in the forms of OpenSSL and OpenSSH.
 * OpenSSL decodes its own; ssh-keygen decrypts OpenSSH's, and converts them in
 * memory. If a key is encrypted, either asks for the passphrase, on the terminal
 * and nowhere else.
 */
#ifndef CLI_PROOF_PRIVATE_KEY_H
#define CLI_PROOF_PRIVATE_KEY_H

#include "proof/key.h"

/*
 * Reads the private key in path, or "-" for standard input. NULL with a reason
 * in why; the caller frees the key with EVP_PKEY_free.
 */
EVP_PKEY *private_key_read(const char *path, char why[static PROOF_WHY_BYTES]);

#endif
