/* SPDX-License-Identifier: ISC */
/* host/become: a process of root's becomes an account, for good. */
#ifndef CLI_HOST_BECOME_H
#define CLI_HOST_BECOME_H

#include <sys/types.h>

#include <stdbool.h>

/*
 * Takes the account's groups, gid and uid, and asks the kernel afterwards
 * whether it did and whether nothing leads back. Without a name (NULL), gid is
 * the only group. False with errno. The kernel
 * clears the parent-death signal meanwhile: see child_die_with_parent.
 */
bool become_account(const char *name, uid_t uid, gid_t gid);

#endif
