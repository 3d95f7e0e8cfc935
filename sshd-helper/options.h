/* SPDX-License-Identifier: ISC */
/* options: the guard's command line. */
#ifndef GUARD_OPTIONS_H
#define GUARD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GUARD_USAGE \
	"usage: keyveto-authorized-keys --user NAME --home DIR --type TYPE " \
	"--key BASE64\n" \
	"           [--uid UID] [--connection STR] [--config FILE]\n" \
	"           [-- COMMAND [ARG...]]\n"

/* All strings are argv's. */
struct guard_options {
	const char *user, *home, *type, *key, *connection, *config;
	uid_t uid;
	bool have_uid;
	char **command;		/* NULL without -- COMMAND */
	bool help, version;
};

/*
 * Reads the command line. Returns true, or false with a reason in why: an
 * unknown, repeated or incomplete option, a word that is none, or a missing
 * one. --user and --home may be left out before -- COMMAND.
 */
bool guard_options_read(int argc, char **argv, struct guard_options *o,
    char *why, size_t cap);

#endif
