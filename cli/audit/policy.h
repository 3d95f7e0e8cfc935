/* SPDX-License-Identifier: ISC */
/*
 * audit/policy: which files hold the keys that sshd lets into an account, and
 * what of it cannot be seen.
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
	struct kv_config guard;	  /* the guard's own, if it names one */
	struct guard_files files; /* those of its arguments */
};

/* The different policies there are; most machines have one. */
struct audit_policies {
	struct audit_policy **v;
	size_t n;
};

/*
 * Finds the policy of each account (of_account has room for them all), from
 * sshd or, where that cannot be asked, from the configuration of r's judge.
 * What people should know is said on standard error; what could not be found
 * out is a problem in r. sshd NULL: do not ask. False without memory.
 */
bool audit_policies_find(struct audit_policies *p, const struct sshd *sshd,
    const struct accounts *accounts, const struct audit_policy **of_account,
    struct report *r);

void audit_policies_free(struct audit_policies *p);

#endif
