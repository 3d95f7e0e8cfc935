/* SPDX-License-Identifier: ISC */
/* host/accounts: the accounts of this machine. */
#ifndef CLI_HOST_ACCOUNTS_H
#define CLI_HOST_ACCOUNTS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

struct account {
	char *name, *home;
	uid_t uid;
	gid_t gid;
};

/* Zeroes are an empty list. */
struct accounts {
	struct account *v;
	size_t n;
};

/*
 * Adds every account that getpwent(3) lists, in that order. If two have the
 * same name, only the first is added: sshd uses that one. False with errno.
 */
bool accounts_add_all(struct accounts *a);

/* Adds the account called name. False with errno: ENOENT if there is none. */
bool accounts_add(struct accounts *a, const char *name);

void accounts_free(struct accounts *a);

#endif
