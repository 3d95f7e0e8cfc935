/* SPDX-License-Identifier: ISC */
/*
 * sshd/started: whether the arguments that this machine's sshd are started with
 * override the files. Below another root there is no sshd to look at: both
 * functions return true.
 */
#ifndef CLI_SSHD_STARTED_H
#define CLI_SSHD_STARTED_H

#include "sshd/setup.h"

/*
 * Whether each sshd of this machine either uses the files that enable is to
 * write, which are in p, or reads none of them. False after messages. A note
 * names what cannot be seen.
 */
bool sshd_started_allows(const struct sshd_options *o, struct sshd_setup *p);

/*
 * Whether each sshd of this machine uses the settings in dump, the output of
 * "sshd -T". False after messages.
 */
bool sshd_started_goes_by(const struct sshd_options *o, const char *dump);

#endif
