/* SPDX-License-Identifier: ISC */
/* sshd/matches: what sshd's Match blocks mean for keyveto's lines. */
#ifndef CLI_SSHD_MATCHES_H
#define CLI_SSHD_MATCHES_H

#include "sshd/files.h"

/* Whether a line of any Match block has the keyword. */
bool sshd_matches_set(const struct sshd_tree *t, const char *keyword);

/*
 * Completes, in next of the files, the Match blocks of t for a guard that takes
 * over keys_files, which is sshd's AuthorizedKeysFile. False after a message,
 * or with the reason in unfit if a block would get other keys.
 */
bool sshd_matches_complete(const struct sshd_tree *t, const char *keys_files,
    struct sshd_files *files, char *unfit, size_t cap);

/* Prints a note for each line in a Match block that bypasses the guard. */
void sshd_matches_note_bypasses(const struct sshd_tree *t);

#endif
