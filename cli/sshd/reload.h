/* SPDX-License-Identifier: ISC */
/* sshd/reload: makes the running sshd read its configuration again. */
#ifndef CLI_SSHD_RELOAD_H
#define CLI_SSHD_RELOAD_H

#include <stdbool.h>

/*
 * Reloads the sshd of this machine: by systemd, or by the PidFile that dump,
 * the output of "sshd -T", names. False after a message.
 */
bool sshd_reload(const char *dump);

#endif
