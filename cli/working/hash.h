/* SPDX-License-Identifier: ISC */
/* working/hash: has keyveto-worker make the SHA-256 of a file. */
#ifndef CLI_WORKING_HASH_H
#define CLI_WORKING_HASH_H

#include <stdbool.h>

#define WORKING_HASH_CHARS (2 * 32 + 1)

/*
 * Sets sha256 to the digits of the whole file, whose offset stays. "" and false
 * after a message, which calls it shown.
 */
bool working_hash(int fd, const char *shown,
    char sha256[static WORKING_HASH_CHARS]);

#endif
