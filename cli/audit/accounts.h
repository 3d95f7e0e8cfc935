/* SPDX-License-Identifier: ISC */
/* audit/accounts: judges the keys of accounts, read as each account. */
#ifndef CLI_AUDIT_ACCOUNTS_H
#define CLI_AUDIT_ACCOUNTS_H

#include "audit/policy.h"

struct audit_readers {
	const struct accounts *accounts;
	const struct audit_policy **policy_of; /* of each account */
	const char *root;     /* all files are below it; "" for this machine */
	unsigned int timeout; /* seconds for each account */
};

/*
 * Reports on each account, in order. After each, calls done with the totals
 * before and after it, until done returns false. Returns whether done never
 * did.
 */
bool audit_accounts(struct report *r, const struct audit_readers *a,
    bool (*done)(const struct account *account, const struct report *before,
	const struct report *after, void *arg),
    void *arg);

/* Functions for a struct input_sink whose arg is a struct report. */
void audit_on_key(const struct input_key *key, void *report);
void audit_on_problem(const struct input_problem *problem, void *report);
void audit_on_file(const char *path, void *report);

#endif
