/* SPDX-License-Identifier: ISC */
/* sshd/rehearse: which accounts enabling keyveto would refuse. */
#ifndef CLI_SSHD_REHEARSE_H
#define CLI_SSHD_REHEARSE_H

#include "sshd/sshd.h"

struct sshd_rehearsal {
	size_t refused;	   /* accounts with a listed key */
	size_t locked_out; /* those of them without another key */
	size_t listed_cas; /* listed CAs in TrustedUserCAKeys */
	bool unknown;	   /* some keys could not be judged */
};

/*
 * Audits all accounts by base, the copy without keyveto's lines, and prints
 * who would be refused. False after a message.
 */
bool sshd_rehearse(const struct sshd_options *o, struct sshd_copy *base,
    struct sshd_rehearsal *found);

#endif
