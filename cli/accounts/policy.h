/* SPDX-License-Identifier: ISC */
/*
 * accounts/policy: which files hold the keys that sshd accepts for an account,
 * from whichever client, and which keys the audit cannot see.
 */
#ifndef CLI_ACCOUNTS_POLICY_H
#define CLI_ACCOUNTS_POLICY_H

#include "accounts/ask.h"
#include "base/texts.h"
#include "host/accounts.h"
#include "kv_config.h"
#include "reading/report.h"
#include "sshd_config/sshd_config.h"

/* A pattern of authorized keys files. */
struct audit_pattern {
	char *text;
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
};

/* An AuthorizedKeysCommand that prints keys of its own. */
struct audit_command {
	struct ask_command as;
	char *unasked; /* why it cannot be asked; NULL: it can */
};

/*
 * All files by which sshd may let an account in. They are of several sets if
 * Match blocks look at more than the account, such as the client's address, or
 * if several sshd run.
 */
struct audit_policy {
	/* Each AuthorizedKeysCommand of another program. */
	struct audit_command *command;
	size_t n_commands;
	struct sshd_settings *settings; /* NULL: sshd could not be asked */
	/* Each text is there once for each way to treat wildcards. */
	struct audit_pattern *pattern;
	size_t n_patterns;
	bool reads_files;      /* sshd itself reads some of them */
	bool null;	       /* one is /dev/null: no key is in it */
	struct texts user_cas; /* each TrustedUserCAKeys */
	char *origin; /* of the lines that do not hold from everywhere */
	const struct audit_policy *joined[2]; /* made of these; or NULL */
};

/* The different policies of a machine. Most have one. */
struct audit_policies {
	struct audit_policy **v;
	size_t n;
};

/*
 * Sets of_account[i] to the policy of account i; of_account has room for all.
 * The policies come from sshd, or from the configuration of r's judge if sshd
 * is NULL or cannot be asked. As root, unless sshd is another one than
 * SSHD_PATH with its own file, they also come from each other sshd that runs
 * (sshd_config/running). Prints notes and warnings on standard error. What sshd
 * would not tell is a problem in r. False with errno if out of memory. Always
 * call audit_policies_free.
 */
bool audit_policies_find(struct audit_policies *p, const struct sshd *sshd,
    const struct accounts *accounts, const struct audit_policy **of_account,
    struct report *r);

/* Notes, once for each, which commands print keys that are not audited. */
void audit_policies_note_commands(const struct audit_policies *p);

void audit_policies_free(struct audit_policies *p);

/* Has p stand for the other's files, too: the same ones. */
void audit_pattern_join(struct audit_pattern *p,
    const struct audit_pattern *other);

#endif
