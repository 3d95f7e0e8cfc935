/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/guard_command: recognises the guard in AuthorizedKeysCommand and
 * AuthorizedPrincipalsCommand, reads its arguments, and tells whether sshd would
 * run a program.
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

/*
 * Sets path to the guard's --config FILE, or else to KV_CONFIG_PATH. Whether it
 * has that option.
 */
bool guard_config(const char *args, char *path, size_t cap);

/*
 * Whether sshd would run the program at path of this process's root directory,
 * by the owner and mode of the file and of each directory above it (OpenSSH's
 * misc.c:safe_path). sshd makes no exception for sticky directories.
 */
enum runnable {
	RUNNABLE,
	RUNNABLE_DOUBTFUL, /* root's group may write: Debian's sshd allows that */
	RUNNABLE_UNSAFE,
	RUNNABLE_MISSING, /* there is no such file */
};

/*
 * why is set unless the answer is RUNNABLE; it then has a sentence about the
 * first place with that answer.
 */
enum runnable runnable_path(const char *path, char *why, size_t cap);

#endif
