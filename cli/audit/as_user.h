/* SPDX-License-Identifier: ISC */
/*
 * audit/as_user: reads an account's authorized keys files as that account, in a
 * child process. So no link leads to a file that the account may not read, and
 * a FIFO or a dead file server does not hold up the audit.
 */
#ifndef CLI_AUDIT_AS_USER_H
#define CLI_AUDIT_AS_USER_H

#include "host/accounts.h"
#include "host/child.h"
#include "keys/input.h"

/* What to read. Must live until as_user_finish. */
struct as_user {
	const struct account *account;
	const char *root; /* the reader's root directory; "" for ours */
	const char *const *pattern; /* as in AuthorizedKeysFile */
	size_t n_patterns;
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
	struct child child;
	int error; /* errno, if there is no child */
};

/* Gets what the reader found. */
struct as_user_sink {
	struct input_sink input; /* key, problem, file, arg */
	/* Gets a text about a file that sshd will not use. */
	void (*note)(const char *text, void *arg);
};

/*
 * Starts the reader. If run by root, the reader becomes the account for good. A
 * failure is reported by as_user_finish.
 */
void as_user_start(struct as_user *u);

/*
 * Passes what was found to the sink, and ends the reader. A reader that runs
 * for longer than timeout seconds is killed. That is reported as a problem, and
 * so is a reader that was killed otherwise.
 */
void as_user_finish(struct as_user *u, unsigned int timeout,
    const struct as_user_sink *sink);

#endif
