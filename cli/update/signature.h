/* SPDX-License-Identifier: ISC */
/* update/signature: SSH signatures of files, checked by ssh-keygen -Y. */
#ifndef CLI_UPDATE_SIGNATURE_H
#define CLI_UPDATE_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#define SIGNATURE_KEYGEN_PATH "/usr/bin/ssh-keygen"
#define SIGNATURE_NAMESPACE "keyveto-filter"
#define SIGNATURE_MAX_BYTES (64 * 1024)

/*
 * Whether signature, of len bytes, is a good signature of the whole file fd by
 * a key that the file allowed_signers lists for identity. The caller closes
 * both descriptors; their offsets stay. False after a message; shown is the
 * signature's source.
 */
bool signature_verify(int fd, const void *signature, size_t len,
    int allowed_signers, const char *identity, const char *shown);

#endif
