/* SPDX-License-Identifier: ISC */
/*
 * sshd/faithful: whether keyveto's copy of sshd's configuration means to sshd
 * what the files themselves mean.
 */
#ifndef CLI_SSHD_FAITHFUL_H
#define CLI_SSHD_FAITHFUL_H

#include "sshd/sshd.h"

/*
 * Whether "sshd -T" prints the same settings about the copy as about its own
 * configuration file. False after a message. True, without asking, below
 * another root: the sshd that runs here does not read those files.
 */
bool sshd_faithful_copy(const struct sshd_options *o, struct sshd_copy *c);

#endif
