/* SPDX-License-Identifier: ISC */
/*
 * accounts/ask: the keys that an AuthorizedKeysCommand of another program prints
 * for an account. Only a command whose arguments say who logs in can be asked
 * before a login: where they have the key, the certificate or the connection,
 * nobody can know.
 */
#ifndef CLI_ACCOUNTS_ASK_H
#define CLI_ACCOUNTS_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "host/accounts.h"

#define ASK_WHY_BYTES 512
/* A command takes no longer, and sshd reads no more. */
#define ASK_SECONDS 10

/* A command as sshd has it, without a guard in front. */
struct ask_command {
	char *text, *user; /* AuthorizedKeysCommandUser */
};

/*
 * Copies the program and arguments of an AuthorizedKeysCommand that prints keys
 * of its own: those behind a guard's "--", or all. False if there is none, as
 * for a guard that prints files.
 */
bool ask_find(const char *command, char *text, size_t cap);

/*
 * Whether the command can be asked about accounts: its program can be run as
 * sshd would, and its arguments have no other token than %u, %h, %U and %%.
 * False with a sentence.
 */
bool ask_is_possible(const struct ask_command *c, char why[ASK_WHY_BYTES]);

/*
 * Runs the command about an account, as its user, as sshd does, without a
 * terminal. Returns a file in memory with what it printed, which is not read
 * here; -1 with a sentence. For a process of root's.
 */
int ask_run(const struct ask_command *c, const struct account *about,
    char why[ASK_WHY_BYTES]);

#endif
