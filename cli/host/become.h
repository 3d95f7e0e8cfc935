/* SPDX-License-Identifier: ISC */
/*
 * host/become: a process of root's becomes an account, for good or for now.
 */
#ifndef CLI_HOST_BECOME_H
#define CLI_HOST_BECOME_H

#include <sys/types.h>

#include <stdbool.h>

/*
 * Sets this process's groups, gid and uid to the account's, then asks the
 * kernel whether they are set, and whether there is no way back to root.
 * Without a name (NULL), gid is the only group. False with errno: EPERM if the
 * kernel's answer is wrong. The kernel clears the parent-death signal: repeat
 * child_die_with_parent.
 */
bool become_account(const char *name, uid_t uid, gid_t gid);

/* The same, but the groups were set before. */
bool become_ids(uid_t uid, gid_t gid);

/*
 * Sets only the effective uid and gid, as OpenSSH's uidswap.c does while sshd
 * reads an account's files. The real and saved uid stay root's: so processes of
 * the account can neither trace this one nor send it signals, and
 * become_root_again works. Groups and parent-death signal as for become_ids.
 */
bool become_ids_for_now(uid_t uid, gid_t gid);

/* Ends become_ids_for_now, also after it failed. The groups stay. */
bool become_root_again(void);

#endif
