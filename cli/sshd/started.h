/* SPDX-License-Identifier: ISC */
/*
 * sshd/started: whether the arguments that this machine's sshd are started with
 * override the files. Below another root there is no sshd to look at: both
 * functions return true.
 */
#ifndef CLI_SSHD_STARTED_H
#define CLI_SSHD_STARTED_H

#include "sshd/sshd.h"

/*
 * Whether each sshd of this machine either uses the files that enable is to
 * write, or reads none of them. dump is what "sshd -T" prints without keyveto's
 * lines, and settings the same, parsed. False after messages. A note names what
 * cannot be seen.
 */
bool sshd_started_allows(const struct sshd_files *files, const char *dump,
    const struct sshd_settings *settings);

/*
 * Whether each sshd of this machine uses the settings, which "sshd -T" printed
 * as dump. False after messages.
 */
bool sshd_started_goes_by(const char *root, const char *dump,
    const struct sshd_settings *settings);

#endif
