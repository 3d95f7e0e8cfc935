/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/dump: all that "sshd -T" says about the copy of a configuration.
 */
#ifndef CLI_SSHD_CONFIG_DUMP_H
#define CLI_SSHD_CONFIG_DUMP_H

#include "sshd_config/tree.h"

/*
 * What holds for user, or where no Match line asks for anything (NULL); to be
 * freed. NULL with a sentence in why, in which files go by their real names.
 * Where sshd finds no host key, or shall not look for one (foreign), a key is
 * made for it.
 */
char *sshd_dump(const char *sshd, struct sshd_tree *t, bool foreign,
    const char *user, char *why, size_t cap);

/* The same for "sshd -t": whether sshd would start. */
bool sshd_dump_valid(const char *sshd, struct sshd_tree *t, bool foreign,
    char *why, size_t cap);

#endif
