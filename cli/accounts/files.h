/* SPDX-License-Identifier: ISC */
/*
 * accounts/files: judges the keys of accounts, and the CAs that sshd trusts to
 * sign their certificates. accounts/openers open each account's files, and
 * keyveto-reader reads them: this process parses nothing that an account wrote.
 */
#ifndef CLI_ACCOUNTS_FILES_H
#define CLI_ACCOUNTS_FILES_H

#include <stdint.h>

#include "accounts/policy.h"

struct audit_readers {
	const struct accounts *accounts;
	const struct audit_policy **policy_of; /* of each account */
	/* Of each account: whether its commands are asked. NULL: none is. */
	const uint8_t *asks;
	/* Is told of a command that gave no answer: a sentence. */
	void (*on_unasked)(const char *text, void *arg);
	void *unasked_arg;
	/*
	 * Seconds for opening the files of an account, and for reading them. A
	 * process that takes longer is killed.
	 */
	unsigned int timeout;
};

/* What was found of an account. */
struct audit_found {
	const struct account *account;
	struct report before, after; /* the totals */
	uint64_t links;		     /* of the problems: links to nothing */
	bool refused; /* a key that the configuration refuses as listed */
	bool let_in;  /* another key */
	bool has_ca;  /* a line with cert-authority */
};

/*
 * Reports on each account, in order. A process that fails is a problem. After
 * each, calls done, until done returns false. Returns whether done never did.
 */
bool audit_accounts(struct report *r, const struct audit_readers *a,
    bool (*done)(const struct audit_found *found, void *arg), void *arg);

/*
 * Reports on each file that TrustedUserCAKeys names for an account.
 * A file that does not exist is a problem only with absent_is_problem: sshd
 * then accepts no certificate.
 */
void audit_user_cas(struct report *r, const struct audit_policies *policies,
    bool absent_is_problem);

/* A sink that gives r the keys, problems and files that it gets. */
struct input_sink audit_sink(struct report *r);

#endif
