/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/guard_command: the guard among the commands that sshd_config
 * names.
 */
#ifndef CLI_SSHD_CONFIG_GUARD_COMMAND_H
#define CLI_SSHD_CONFIG_GUARD_COMMAND_H

#include "kv_config.h"

#define GUARD_NAME "keyveto-authorized-keys"

/* Whether the command is the guard: then *argsp is what follows its name. */
bool guard_command(const char *command, const char **argsp);

/* Whether "--" and another command are among these arguments. */
bool guard_chained(const char *args);

/* What the guard's own arguments say instead of keyveto.conf. */
struct guard_files {
	char *memory; /* what the strings point into */
	const char *pattern[KV_CONFIG_MAX_PATTERNS];
	size_t n;
	const char *strictmodes, *wildcards; /* NULL: keyveto.conf's */
};

/* False without memory. Ended by guard_files_free. */
bool guard_files_read(const char *args, struct guard_files *f);
void guard_files_free(struct guard_files *f);

/* The guard's --config FILE, if it comes before a chained command. */
bool guard_config(const char *args, char *path, size_t cap);

#endif
