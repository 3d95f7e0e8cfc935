/* SPDX-License-Identifier: ISC */
/* sshd_config/version: the OpenSSH version of an sshd. */
#ifndef CLI_SSHD_CONFIG_VERSION_H
#define CLI_SSHD_CONFIG_VERSION_H

#include <stdbool.h>

/*
 * Whether the sshd at path prints, with -V, that it is OpenSSH major.minor or
 * later. False if it prints no version.
 */
bool sshd_version_at_least(const char *path, unsigned int major,
    unsigned int minor);

#endif
