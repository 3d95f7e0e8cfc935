/* SPDX-License-Identifier: ISC */
/* upkeep/administrators: who may not be locked out, by HoldIfRefused. */
#ifndef CLI_UPKEEP_ADMINISTRATORS_H
#define CLI_UPKEEP_ADMINISTRATORS_H

#include <stdint.h>

#include "host/accounts.h"
#include "host/change.h"

/*
 * Which of the groups of hold the account is in: "" for root, "unknown" if its
 * groups are not known. NULL: it is no administrator.
 */
const char *administrators_group(const struct change_hold *hold,
    const struct account *account);

/*
 * Whether the account is root's or an administrator's: a member of a group that
 * is in HoldIfRefused by default, or by a section of update.conf. True also if
 * update.conf cannot be read, after a message, and if the account's groups are
 * not known.
 */
bool administrators_has_any(const struct account *account);

/*
 * The same of each account, for which hold counts, too, unless it is NULL. The
 * caller frees the answers, 1 or 0. NULL without memory.
 */
uint8_t *administrators_mark(const struct accounts *accounts,
    const struct change_hold *hold);

#endif
