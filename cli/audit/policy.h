/* SPDX-License-Identifier: ISC */
/*
 * audit/policy: which files hold the keys that sshd accepts for an account, and
 * which keys the audit cannot see.
 */
#ifndef CLI_AUDIT_POLICY_H
#define CLI_AUDIT_POLICY_H

#include "host/accounts.h"
#include "output/report.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/sshd_config.h"

struct audit_policy {
	struct sshd_settings *settings; /* NULL: sshd could not be asked */
	const char *pattern[SSHD_WORDS_MAX + KV_CONFIG_MAX_PATTERNS];
	size_t n_patterns;
	enum kv_strictmodes strictmodes;
	enum kv_wildcards wildcards;
	struct kv_config guard;	  /* the file of its --config, if any */
	struct guard_files files; /* what its arguments name */
};

/* The different policies of a machine. Most have one. */
struct audit_policies {
	struct audit_policy **v;
	size_t n;
};

/*
 * Sets of_account[i] to the policy of account i; of_account has room for all.
 * The policies come from sshd, or from the configuration of r's judge if sshd
 * is NULL or cannot be asked. Prints notes and warnings on standard error. What
 * sshd would not tell is a problem in r. False with errno if out of memory.
 * Always call audit_policies_free.
 */
bool audit_policies_find(struct audit_policies *p, const struct sshd *sshd,
    const struct accounts *accounts, const struct audit_policy **of_account,
    struct report *r);

void audit_policies_free(struct audit_policies *p);

#endif
