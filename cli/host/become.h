/* SPDX-License-Identifier: ISC */
/* host/become: a process of root's becomes an account for good. */
#ifndef CLI_HOST_BECOME_H
#define CLI_HOST_BECOME_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/*
 * Sets this process's groups, gid and uid to the account's, then asks the
 * kernel whether they are set, and whether there is no way back to root.
 * Without a name (NULL), gid is the only group. False with errno: EPERM if the
 * kernel's answer is wrong. The kernel clears the parent-death signal: repeat
 * child_die_with_parent.
 */
bool become_account(const char *name, uid_t uid, gid_t gid);

/* The same with these groups, of which gid should be one. */
bool become_with_groups(const gid_t *group, size_t n, uid_t uid, gid_t gid);

#endif
