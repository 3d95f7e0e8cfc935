/* SPDX-License-Identifier: ISC */
/*
 * accounts/origin: which files, commands and CAs sshd's lines give an account if
 * Match blocks look at more than the account, such as the client's address.
 * sshd -T answers for one client only.
 */
#ifndef CLI_ACCOUNTS_ORIGIN_H
#define CLI_ACCOUNTS_ORIGIN_H

#include "host/accounts.h"
#include "sshd_config/overview.h"

#define ORIGIN_VALUES_MAX 16

/* The values of a keyword of which sshd uses one for an account. */
struct origin_values {
	/* 1 + the index of its line; 0: the global value */
	size_t line[ORIGIN_VALUES_MAX + 1];
	size_t n;
	bool by_origin; /* which one depends on more than the account */
	bool too_many;
};

/* All zeroes: nothing depends on the origin. */
struct origin {
	struct origin_values files, command, user_ca;
};

/* Sets o to what sshd's lines say of the account. False without memory. */
bool origin_find(struct origin *o, const struct sshd_overview *overview,
    const struct account *account);

/*
 * A string that is equal for two accounts for which the same depends on the
 * origin. The caller frees it. NULL with errno.
 */
char *origin_name(const struct origin *o);

#endif
