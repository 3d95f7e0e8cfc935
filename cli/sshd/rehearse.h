/* SPDX-License-Identifier: ISC */
/* sshd/rehearse: which accounts enabling keyveto would refuse. */
#ifndef CLI_SSHD_REHEARSE_H
#define CLI_SSHD_REHEARSE_H

#include "accounts/refused.h"
#include "sshd/sshd.h"

/*
 * Audits the accounts by copy and the base of keyveto.conf, both without
 * keyveto's lines, and prints who would be refused; with --json only the keys.
 * Returns 0 to go on, or the exit status after a message. *stopsp tells whether
 * it would be SSHD_NOT_DONE without --warn, --yes and --dry-run. Always call
 * audit_refused_free for h, which names accounts of the list.
 */
int sshd_rehearse(const struct sshd_options *o, const struct sshd_copy *copy,
    const struct sshd_files *files, const struct accounts *accounts,
    struct audit_refused *h, bool *stopsp);

#endif
