/* SPDX-License-Identifier: ISC */
/* audit/user_ca: judges the CAs whose certificates sshd takes for users. */
#ifndef CLI_AUDIT_USER_CA_H
#define CLI_AUDIT_USER_CA_H

#include "audit/policy.h"

/*
 * Reports on each file that TrustedUserCAKeys names for an account, below root.
 * One that is not there lets nobody in: a problem only if it shall be one.
 */
void audit_user_cas(struct report *r, const struct audit_policies *policies,
    const char *root, bool absent_is_problem);

#endif
