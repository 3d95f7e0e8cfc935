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
 * Finds the account of --user and, when started as root, becomes it for good:
 * groups, gid, uid, each asked for again afterwards. Started as anybody else
 * it stays that user. False with a reason in why: no such account, --uid names
 * another one, or an identity could not be taken on.
 */
bool guard_become_user(const struct guard_options *o,
    struct kv_account *account, char *why, size_t cap);

#endif
