/* SPDX-License-Identifier: ISC */
/*
 * accounts/openers: processes that open the files of each account as that
 * account, and hand them over. So no link leads to a file that the account may
 * not read, and a dead file server does not hold up the audit. They read none.
 * An opener has the account's uid and gid alone. libc is asked for the account's
 * groups only after EACCES: of many accounts, that takes longer than all else.
 */
#ifndef CLI_ACCOUNTS_OPENERS_H
#define CLI_ACCOUNTS_OPENERS_H

#include "host/child.h"

struct audit_readers;

/* What one sends of an account: records in packets, and descriptors. */
enum opener_tag {
	OPENER_FILE = 1, /* path; one descriptor */
	OPENER_PROBLEM,	 /* path, reason */
	OPENER_NOTHING,	 /* path of a link to nothing */
	OPENER_NOTE,	 /* text */
	OPENER_UNASKED,	 /* the same, of a command that gave no answer */
	OPENER_END,	 /* "": no more of this account */
};

/*
 * Starts one of n, which goes through every nth account, from first on. False
 * with errno.
 */
bool openers_start(const struct audit_readers *a, struct child *c, size_t n,
    size_t first);

#endif
