/* SPDX-License-Identifier: ISC */
/* audit/user_ca: judges the CAs that sshd trusts to sign user certificates. */
#ifndef CLI_AUDIT_USER_CA_H
#define CLI_AUDIT_USER_CA_H

#include "audit/policy.h"

/*
 * Reports on each file below root that TrustedUserCAKeys names for an account.
 * A file that does not exist is a problem only with absent_is_problem: sshd
 * then accepts no certificate.
 */
void audit_user_cas(struct report *r, const struct audit_policies *policies,
    const char *root, bool absent_is_problem);

#endif
