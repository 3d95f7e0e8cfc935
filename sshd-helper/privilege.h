/* SPDX-License-Identifier: ISC */
/* privilege: gives up the guard's rights, and makes it the account. */
#ifndef GUARD_PRIVILEGE_H
#define GUARD_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "kv_userfile.h"
#include "options.h"

/*
 * Call this first. Opens the standard descriptors that are closed, prevents a
 * core dump, and lets only root trace the process. False (errno) if /dev/null
 * cannot be opened.
 */
bool guard_harden(void);

/*
 * Has the kernel kill this process when its parent, sshd, ends, even while the
 * process is stopped: so no guard is left behind. parent is what getppid()
 * returned when the process began. False if that parent has already ended. A
 * change of the user or group ID undoes this, and so does guard_outlive_parent.
 * execv keeps it.
 */
bool guard_die_with_parent(pid_t parent);

/*
 * Undoes guard_die_with_parent. Call it before execv: the command behind --
 * must run as if sshd had started it.
 */
void guard_outlive_parent(void);

/*
 * Finds the account of --user, sets *account (which points into o), and, if
 * started as root, becomes the account for good: groups, gid and uid, each of
 * them verified. If started as another user, the process stays that user. False
 * with a reason in why (cap bytes): there is no such account, --uid names
 * another one, an ID could not be changed, or the parent has ended.
 *
 * Before processes of the account can send it signals or trace it, the process
 * is set to die with its parent and is not dumpable.
 */
bool guard_become_user(const struct guard_options *o, pid_t parent,
    struct kv_account *account, char *why, size_t cap);

#endif
