/* SPDX-License-Identifier: ISC */
/* sshd_config/version: which OpenSSH an sshd is. */
#ifndef CLI_SSHD_CONFIG_VERSION_H
#define CLI_SSHD_CONFIG_VERSION_H

#include <stdbool.h>

/*
 * Whether the sshd at path says by -V that it is OpenSSH major.minor or later.
 * False, too, where it does not say.
 */
bool sshd_version_at_least(const char *path, unsigned int major,
    unsigned int minor);

#endif
