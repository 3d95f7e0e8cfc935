/* SPDX-License-Identifier: ISC */
/* sshd/rehearse: which accounts enabling keyveto would refuse. */
#ifndef CLI_SSHD_REHEARSE_H
#define CLI_SSHD_REHEARSE_H

#include "sshd/sshd.h"

/*
 * Audits the accounts by base, the copy without keyveto's lines, and prints who
 * would be refused. Returns 0 to go on, or the exit status after a message.
 */
int sshd_rehearse(const struct sshd_options *o, const struct sshd_copy *base,
    const struct accounts *accounts);

#endif
