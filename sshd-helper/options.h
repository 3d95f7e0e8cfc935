/* SPDX-License-Identifier: ISC */
/* options: reads the guard's command line. */
#ifndef GUARD_OPTIONS_H
#define GUARD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kv_config.h"

#define GUARD_USAGE \
	"usage: keyveto-authorized-keys --user NAME --home DIR --type TYPE " \
	"--key BASE64\n" \
	"           [--uid UID] [--connection STR] [--config FILE]\n" \
	"           [--file PATH]... [--strictmodes yes|private-group|no]\n" \
	"           [--wildcards yes|no]\n" \
	"           [-- COMMAND [ARG...]]\n"

/* All strings point into argv. */
struct guard_options {
	const char *user, *home, *type, *key, *connection, *config;
	uid_t uid;
	bool have_uid;
	/* --file: the account's files. sshd has expanded their tokens. */
	const char *file[KV_CONFIG_MAX_PATTERNS];
	size_t n_files; /* 0: keyveto.conf names them */
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
	bool have_strictmodes, have_wildcards; /* else keyveto.conf's */
	char **command;			       /* NULL without -- COMMAND */
	bool help, version, walls;
};

/*
 * Reads the command line, up to --help, --version or --walls. On an error
 * returns false, and why (cap bytes) says whether an option is unknown, repeated, missing,
 * incomplete or has a bad value. --file may be repeated. --user and --home are
 * optional before -- COMMAND.
 */
bool guard_options_read(int argc, char **argv, struct guard_options *o,
    char *why, size_t cap);

#endif
