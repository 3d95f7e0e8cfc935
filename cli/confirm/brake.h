/* SPDX-License-Identifier: ISC */
/*
 * confirm/brake: audits the accounts with the confirmed keys before logins
 * refuse them, so that nobody locks out an administrator unawares.
 */
#ifndef CLI_CONFIRM_BRAKE_H
#define CLI_CONFIRM_BRAKE_H

#include "list/batch.h"
#include "update/settings.h"

/*
 * Whether the keys of the batch may be put into the list, which logins by the
 * keyveto.conf at config consult. They may not if that refuses a key of root
 * that is let in now, the last key of a member of a group of hold, or a CA in
 * TrustedUserCAKeys, or if not all of these keys can be judged. False after a
 * message. Sorts the batch.
 */
bool confirm_brake_allows(struct list_batch *batch, const char *list,
    const char *config, const struct update_hold *hold);

#endif
