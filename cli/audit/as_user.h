/* SPDX-License-Identifier: ISC */
/*
 * audit/as_user: reads an account's authorized keys files as that account, in a
 * process of its own, so that no link leads to what the account may not read,
 * and neither a FIFO nor a dead file server holds up the rest.
 */
#ifndef CLI_AUDIT_AS_USER_H
#define CLI_AUDIT_AS_USER_H

#include "host/accounts.h"
#include "host/child.h"
#include "keys/input.h"

/* What is to be read; must live until as_user_finish. */
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

/* What it finds, on top of the sink's keys and problems. */
struct as_user_sink {
	struct input_sink input; /* key, problem, file, arg */
	/* Nothing is wrong with the audit, but the owner should know. */
	void (*note)(const char *text, void *arg);
};

/* Starts reading. Run by root, the reader becomes the account for good. */
void as_user_start(struct as_user *u);

/*
 * Hands what was found to the sink. A reader that has not ended after timeout
 * seconds is killed, which is a problem; so is one that dies.
 */
void as_user_finish(struct as_user *u, unsigned int timeout,
    const struct as_user_sink *sink);

#endif
