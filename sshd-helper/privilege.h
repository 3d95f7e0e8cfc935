/* SPDX-License-Identifier: ISC */
/* privilege: what the guard gives up, and who it becomes. */
#ifndef GUARD_PRIVILEGE_H
#define GUARD_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "kv_userfile.h"
#include "options.h"

/*
 * First thing of all: standard descriptors are open, no core is dumped and
 * nobody but root may trace the process. False, with errno, if /dev/null
 * cannot be opened for a standard descriptor that may be closed.
 */
bool guard_harden(void);

/*
 * Lets the kernel kill this process when its parent, sshd, ends: also when it
 * is stopped, so that nobody can leave it behind. parent is what getppid()
 * returned when the process began. False when that parent has ended already.
 * A change of the user or group ID takes it back, and so does
 * guard_outlive_parent. The kernel hands it on through execv.
 */
bool guard_die_with_parent(pid_t parent);

/* Before execv: the command behind -- gets what it would get from sshd. */
void guard_outlive_parent(void);

/*
 * Finds the account of --user and, when started as root, becomes it for good:
 * groups, gid, uid, each asked for again afterwards. Started as anybody else
 * it stays that user. False with a reason in why: no such account, --uid names
 * another one, an identity could not be taken on, or the parent has ended.
 *
 * From the moment when processes of the account may send it signals or trace
 * it, it dies with its parent and is not dumpable.
 */
bool guard_become_user(const struct guard_options *o, pid_t parent,
    struct kv_account *account, char *why, size_t cap);

#endif
