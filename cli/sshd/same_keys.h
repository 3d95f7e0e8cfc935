/* SPDX-License-Identifier: ISC */
/*
 * sshd/same_keys: whether sshd gets the same keys for each account with
 * keyveto's lines as without them.
 */
#ifndef CLI_SSHD_SAME_KEYS_H
#define CLI_SSHD_SAME_KEYS_H

#include "sshd/tryout.h"

struct sshd_same_keys {
	const struct sshd_options *o;
	struct sshd_copy *base, *next; /* without and with keyveto's lines */
	const struct accounts *accounts;
	const struct sshd_tryout *tryout;
	bool wildcards; /* sshd is 10.0 or later; set by sshd_same_keys */
};

/*
 * Compares sshd's settings with and without keyveto's lines; asks sshd once for
 * all accounts that Match blocks cannot tell apart. For each account whose
 * files the guard takes over, reads the files as sshd does, runs the guard, and
 * compares the bytes. For each account with an AuthorizedKeysCommand, does so
 * with the command's output. False after a message that names the account.
 *
 * With --yes leaves out, after a message, an account that keeps its files from
 * being read, as by a file system of its own that gives no answer: such an
 * account cannot keep enable from the others. Not root or an administrator.
 */
bool sshd_same_keys(struct sshd_same_keys *s);

#endif
