/* SPDX-License-Identifier: ISC */
/* audit/accounts: judges the authorized keys of accounts, read as each. */
#ifndef CLI_AUDIT_ACCOUNTS_H
#define CLI_AUDIT_ACCOUNTS_H

#include "audit/policy.h"

struct audit_readers {
	const struct accounts *accounts;
	const struct audit_policy **policy_of; /* of each account */
	const char *root;     /* below which all files are; "" for here */
	unsigned int timeout; /* seconds for an account */
};

/*
 * Reports on each account, in their order, and tells done what was counted
 * before and after it, until that returns false. False if it did.
 */
bool audit_accounts(struct report *r, const struct audit_readers *a,
    bool (*done)(const struct account *account, const struct report *before,
	const struct report *after, void *arg),
    void *arg);

/* What an input_sink takes, with a struct report for its arg. */
void audit_on_key(const struct input_key *key, void *report);
void audit_on_problem(const struct input_problem *problem, void *report);
void audit_on_file(const char *path, void *report);

#endif
