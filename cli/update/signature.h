/* SPDX-License-Identifier: ISC */
/*
 * update/signature: SSH signatures of files (ssh-keygen -Y sign), checked by
 * ssh-keygen.
 */
#ifndef CLI_UPDATE_SIGNATURE_H
#define CLI_UPDATE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#define SIGNATURE_KEYGEN_PATH "/usr/bin/ssh-keygen"
#define SIGNATURE_NAMESPACE "keyveto-filter"
#define SIGNATURE_MAX_BYTES (64 * 1024)

/*
 * Whether signature is one of all that fd holds, by a key that the file of
 * allowed signers lists for identity. The descriptors are only read. False
 * after a message, in which shown is where the signature came from.
 */
bool signature_verify(int fd, const void *signature, size_t len,
    int allowed_signers, const char *identity, const char *shown);

#endif
