/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/guard_command: recognises the guard in AuthorizedKeysCommand and
 * AuthorizedPrincipalsCommand, and reads its arguments.
 */
#ifndef CLI_SSHD_CONFIG_GUARD_COMMAND_H
#define CLI_SSHD_CONFIG_GUARD_COMMAND_H

#include "kv_config.h"

#define GUARD_NAME "keyveto-authorized-keys"

/*
 * Whether the command's program is the guard, by its name. *argsp is what
 * follows the program.
 */
bool guard_command(const char *command, const char **argsp);

/* Whether the guard's arguments have a "--", and so another command. */
bool guard_chained(const char *args);

/* The guard's arguments. Those about files override keyveto.conf. */
struct guard_files {
	char *memory; /* what the strings point into */
	const char *pattern[KV_CONFIG_MAX_PATTERNS];
	size_t n;
	const char *config, *strictmodes, *wildcards; /* NULL if not given */
	bool chained;	    /* as guard_chained tells */
	const char *behind; /* the other command, if chained */
};

/* False without memory. Call guard_files_free after true. */
bool guard_files_read(const char *args, struct guard_files *f);
void guard_files_free(struct guard_files *f);

/* Copies the guard's --config FILE into path. False if it has none. */
bool guard_config(const char *args, char *path, size_t cap);

#endif
