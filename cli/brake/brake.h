/* SPDX-License-Identifier: ISC */
/*
 * brake: the one place that decides whether a file that logins consult may
 * change. It audits the accounts with what the file will be, so that no command
 * locks out an administrator unasked.
 *
 * It is asked as root only, and about a file that a keyveto.conf of this
 * machine names, a keyveto.conf itself, or a filter or list in the state
 * folder, which may be named soon. Each keyveto.conf by which a guard or a
 * module judges counts: ways/configurations finds them.
 *
 * A change is held if it refuses a key in the files of root, or of a member of a
 * group of HoldIfRefused, or a CA in TrustedUserCAKeys, which keyveto did not
 * refuse before; if not all of these keys could be judged; or if it, and the
 * changes since somebody last gave --yes, refuse more accounts than
 * HoldIfRefused allows. Whether sshd lets such a key in for some other reason is
 * not asked: only sshd knows.
 */
#ifndef CLI_BRAKE_BRAKE_H
#define CLI_BRAKE_BRAKE_H

#include "host/change.h"

/* Answers change_may_take_effect. */
bool brake_may_take_effect(const struct change *c, struct change_effect *e);

#endif
