/* SPDX-License-Identifier: ISC */
/*
 * sshd/same_keys: whether sshd gets the same keys for each account with
 * keyveto's lines as without them.
 */
#ifndef CLI_SSHD_SAME_KEYS_H
#define CLI_SSHD_SAME_KEYS_H

#include "sshd/tryout.h"

/*
 * Compares sshd's settings without and with keyveto's lines, base and next;
 * asks sshd once for all accounts that Match blocks cannot tell apart. For each
 * account whose files the guard takes over, reads the files as sshd does, runs
 * the guard, and compares the bytes. For each account with an
 * AuthorizedKeysCommand, does so with the command's output. False after a
 * message that names the account.
 *
 * With --yes leaves out, after a message, an account that keeps its files from
 * being read, as by a file system of its own that gives no answer: such an
 * account cannot keep enable from the others. Not root or an administrator.
 */
bool sshd_same_keys(const struct sshd_options *o, const struct sshd_tryout *t,
    struct sshd_copy *base, struct sshd_copy *next,
    const struct accounts *accounts);

#endif
