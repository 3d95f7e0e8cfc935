/* SPDX-License-Identifier: ISC */
/*
 * accounts/ask: runs an AuthorizedKeysCommand as sshd does (auth2-pubkey.c:
 * user_key_command_allowed2, misc.c:subprocess), and gets the keys that one of
 * another program prints for an account. Only a command whose arguments say who
 * logs in can be asked before a login: where they have the key, the certificate
 * or the connection, nobody can know.
 */
#ifndef CLI_ACCOUNTS_ASK_H
#define CLI_ACCOUNTS_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "host/accounts.h"

#define ASK_WHY_BYTES 512
/* A command takes no longer, and sshd reads no more. */
#define ASK_SECONDS 10

/* A login that a command is run for. */
struct ask_login {
	const struct account *account;
	/* Of its key. NULL: tokens for these are not known. */
	const char *type, *key, *fingerprint, *connection;
	const char
	    *config; /* the guard gets it as --config; NULL: it does not */
};

/*
 * A copy of word with its tokens expanded, which the caller frees. NULL with
 * errno: EINVAL for a token that is not known.
 */
char *ask_expand(const struct ask_login *login, const char *word);

/*
 * Sets argv, which has NULLs, to the words of a command, with their tokens
 * expanded and with what sshd adds. False with errno, as above. Call
 * ask_free_words in any case.
 */
#define ASK_WORDS_MAX 1024 /* two for each file of a guard's, and some */
bool ask_words(const struct ask_login *login, const char *command,
    char *argv[static ASK_WORDS_MAX]);
void ask_free_words(char **argv);

/*
 * Runs argv as an account, with sshd's environment, and gives take what it
 * prints. seconds are for its output, and as many for its end. Returns 0 and
 * sets *statusp as waitpid(2) does; ETIMEDOUT, another errno, or what take
 * returned.
 */
int ask_execute(char *const *argv, const struct account *as,
    unsigned int seconds, int (*take)(const void *p, size_t len, void *arg),
    void *arg, int *statusp);

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
