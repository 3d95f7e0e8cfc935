/* SPDX-License-Identifier: ISC */
/*
 * host/private_groups: which accounts are alone in their group, for StrictModes
 * (kv_userfile). lib asks libc, which reads all accounts for each file that a
 * group may write.
 */
#ifndef CLI_HOST_PRIVATE_GROUPS_H
#define CLI_HOST_PRIVATE_GROUPS_H

#include <stdint.h>

#include "host/accounts.h"
#include "kv_userfile.h"

/*
 * Reads the groups, and all accounts, of this machine or below root. Returns an
 * enum kv_private_group for each of these accounts and its gid. The caller
 * frees it. NULL if nothing is known.
 */
uint8_t *private_groups_read(const char *root, const struct accounts *accounts);

#endif
