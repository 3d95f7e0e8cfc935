/* SPDX-License-Identifier: ISC */
/*
 * update/hold: HoldIfRefused. Audits the accounts with a list or filter that is
 * to take effect, and says whether it locks out an administrator.
 */
#ifndef CLI_UPDATE_HOLD_H
#define CLI_UPDATE_HOLD_H

#include "audit/refused.h"
#include "update/settings.h"

/*
 * Audits all accounts of this machine and the members of the groups of hold, by
 * r and its judge. Always free accounts and h. False after a message.
 */
bool update_hold_audit(const struct update_hold *hold,
    struct accounts *accounts, struct audit_refused *h, struct report *r);

/*
 * Whether the account is root's or an administrator's: a member of a group that
 * is in HoldIfRefused by default, or by a section of update.conf. True also if
 * update.conf cannot be read, after a message, and if the account's groups are
 * not known.
 */
bool update_hold_is_administrator(const struct account *account);

/*
 * Whether hold keeps the file at path as it is, by the audit h; prints why. new
 * is what would take effect, for messages. unjudged: also because keys of an
 * administrator could not be judged; they are printed in any case.
 */
bool update_hold_keeps(const struct update_hold *hold,
    const struct audit_refused *h, const char *path, const char *new,
    bool unjudged);

#endif
