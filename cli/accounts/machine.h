/* SPDX-License-Identifier: ISC */
/* accounts/machine: the keys that this machine accepts or has. */
#ifndef CLI_ACCOUNTS_MACHINE_H
#define CLI_ACCOUNTS_MACHINE_H

#include "accounts/policy.h"
#include "accounts/table.h"
#include "keys/input.h"

/* Seconds that the files of an account may take. */
#define MACHINE_TIMEOUT_DEFAULT 30

struct machine {
	const struct sshd *sshd;
	/* Only these accounts, and no host keys. None: all. */
	const char *const *user;
	size_t n_users;
	unsigned int timeout; /* of struct audit_readers */
	struct report *report;
	struct audit_table *table; /* gets a row for each account, and others */
	/*
	 * Is called when the accounts are known, and no file was read. False:
	 * that is all. NULL: nobody is.
	 */
	bool (*begin)(void *arg);
	void *arg;
	/* Set by machine_audit. */
	struct accounts accounts;
	struct audit_policies policies;
};

/*
 * Audits accounts, host keys and CAs. False after a message. Always call
 * machine_free.
 */
bool machine_audit(struct machine *m);
void machine_free(struct machine *m);

/*
 * Gives every key that keyveto audit judges: those of all accounts, the host
 * keys, and the CAs; with n_users those of these accounts, and the CAs. For
 * root. What cannot be read is counted in *problemsp. judge says which
 * configuration counts. False after a message.
 */
bool machine_each_key(const struct kv_judge *judge, const char *const *user,
    size_t n_users, void (*key)(const struct input_key *key, void *arg),
    void *arg, uint64_t *problemsp);

#endif
