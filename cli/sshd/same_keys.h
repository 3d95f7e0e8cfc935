/* SPDX-License-Identifier: ISC */
/*
 * sshd/same_keys: whether sshd is given, for each account, the same keys with
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
	bool wildcards;	 /* sshd is 10.0 or later; set by sshd_same_keys */
	size_t ca_lines; /* accounts with a cert-authority line */
};

/*
 * Asks sshd about each account that Match blocks can tell apart, and compares
 * the settings. Where the guard takes over an account's files, or stands in
 * front of a command, both are read, or run, as sshd does it, for each account,
 * and their bytes compared. False after a message that names the account.
 */
bool sshd_same_keys(struct sshd_same_keys *s);

#endif
