/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/guard_command: the guard among the commands that sshd_config
 * names.
 */
#ifndef CLI_SSHD_CONFIG_GUARD_COMMAND_H
#define CLI_SSHD_CONFIG_GUARD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#define GUARD_NAME "keyveto-authorized-keys"

/* Whether the command is the guard: then *argsp is what follows its name. */
bool guard_command(const char *command, const char **argsp);

/* Whether "--" and another command are among these arguments. */
bool guard_chained(const char *args);

/* The guard's --config FILE, if it comes before a chained command. */
bool guard_config(const char *args, char *path, size_t cap);

#endif
