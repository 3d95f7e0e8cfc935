/* SPDX-License-Identifier: ISC */
/* sshd_dump: all that "sshd -T" says about the copy of a configuration. */
#ifndef CLI_SSHD_DUMP_H
#define CLI_SSHD_DUMP_H

#include "sshd_tree.h"

#define SSHD_VALUE_BYTES 8192

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

/*
 * Copies the value of a keyword (in small letters); false, and value is "",
 * if there is none, or if it does not fit. "none" is a value.
 */
bool sshd_dump_value(const char *dump, const char *keyword,
    char value[static SSHD_VALUE_BYTES]);

/* Whether the value is this one; a keyword that is missing has none. */
bool sshd_dump_is(const char *dump, const char *keyword, const char *value);

#endif
