/* SPDX-License-Identifier: ISC */
#include "audit/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

#define QUESTIONS_MAX 16 /* to sshd at a time */

struct finder {
	struct audit_policies *p;
	const struct sshd *sshd;
	const struct accounts *accounts;
	const struct audit_policy **of_account;
	struct report *r;
	enum kv_wildcards sshd_wildcards;
};

static void
report_reason(struct report *r, const char *place, const char *reason)
{
	const struct input_problem p = { .path = place, .reason = reason };

	report_problem(r, &p);
}

static void
add_patterns(struct audit_policy *policy, const char *const *pattern, size_t n)
{
	for (size_t i = 0; i < n; i++)
		policy->pattern[policy->n_patterns++] = pattern[i];
}

/*
 * Adds the files that the guard prints: those that its arguments name, or else
 * those of the keyveto.conf that its arguments name, or of the default one. If
 * that file has a mistake, the guard uses the default files, and so does the
 * audit.
 */
static void
add_guarded(struct audit_policy *policy, const char *args, struct report *r)
{
	const struct kv_config *config = &r->judge->config;
	const struct guard_files *files = &policy->files;
	char path[4096], why[KV_CONFIG_WHY_BYTES];
	enum kv_err err = KV_ERR_SYSTEM;
	int fd;

	if (guard_config(args, path, sizeof(path))) {
		config = &policy->guard;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd != -1)
			err = kv_config_read(fd, path, &policy->guard, why);
		if (err == KV_ERR_SYSTEM)
			report_reason(r, path, strerror(errno));
		else if (err != KV_OK)
			report_reason(r, GUARD_NAME, why);
		if (fd != -1)
			close(fd);
	}
	if (policy->settings->strictmodes)
		policy->strictmodes = config->strictmodes;
	policy->wildcards = config->wildcards;
	if (!guard_files_read(args, &policy->files))
		report_reason(r, GUARD_NAME, strerror(errno));
	if (files->n == 0)
		add_patterns(policy, config->pattern, config->n_patterns);
	else {
		add_patterns(policy, files->pattern, files->n);
		policy->wildcards = KV_WILDCARDS_NO;
	}
	if (files->strictmodes != NULL)
		(void)kv_config_read_strictmodes(files->strictmodes,
		    &policy->strictmodes);
	if (files->wildcards != NULL)
		(void)kv_config_read_wildcards(files->wildcards,
		    &policy->wildcards);
}

/* Adds the files of the guard. Prints a note about any other command. */
static void
add_command(struct audit_policy *policy, struct report *r)
{
	const char *command = policy->settings->keys_command, *args;
	bool guard;

	if (sshd_words_none(command))
		return;
	guard = guard_command(command, &args);
	if (!guard || guard_chained(args)) {
		if (!r->quiet || r->on_unjudged != NULL)
			cli_error(
			    "note: sshd also asks AuthorizedKeysCommand %s: "
			    "the keys it prints are not audited",
			    command);
		return;
	}
	if (policy->n_patterns > 0)
		cli_error(
		    "warning: AuthorizedKeysFile is not none: sshd lets "
		    "in the keys of those files without asking the guard %s",
		    command);
	add_guarded(policy, args, r);
}

/*
 * Returns the policy for settings, and owns settings from now on. NULL
 * settings: the policy of keyveto.conf. Returns NULL if out of memory.
 */
static struct audit_policy *
find_policy(struct finder *f, struct sshd_settings *settings)
{
	const struct kv_config *config = &f->r->judge->config;
	struct audit_policy *policy, **v;

	for (size_t i = 0; i < f->p->n; i++) {
		const struct sshd_settings *known = f->p->v[i]->settings;

		if (settings != NULL && known != NULL ?
			!sshd_settings_same_keys(settings, known) :
			settings != known)
			continue;
		sshd_settings_free(settings);
		return f->p->v[i];
	}
	policy = calloc(1, sizeof(*policy));
	v = realloc(f->p->v, (f->p->n + 1) * sizeof(struct audit_policy *));
	if (v != NULL)
		f->p->v = v;
	if (policy == NULL || v == NULL) {
		sshd_settings_free(settings);
		free(policy);
		return NULL;
	}
	v[f->p->n++] = policy;
	kv_config_defaults(&policy->guard);
	policy->settings = settings;
	policy->strictmodes = config->strictmodes;
	policy->wildcards = config->wildcards;
	if (settings == NULL) {
		add_patterns(policy, config->pattern, config->n_patterns);
		return policy;
	}
	if (!settings->strictmodes)
		policy->strictmodes = KV_STRICTMODES_NO;
	policy->wildcards = f->sshd_wildcards;
	add_patterns(policy, settings->pattern, settings->n_patterns);
	add_command(policy, f->r);
	return policy;
}

static bool
set_policy_of_all(struct finder *f, struct sshd_settings *settings)
{
	struct audit_policy *policy = find_policy(f, settings);

	for (size_t i = 0; i < f->accounts->n; i++)
		f->of_account[i] = policy;
	return policy != NULL;
}

/*
 * Asks sshd about each account that Match lines may tell from the ones before.
 * Takes about ten milliseconds a question, but only sshd itself knows. False if
 * out of memory.
 */
static bool
ask_for_each(struct finder *f, const struct sshd_match *match)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	const size_t ring = processors < 2 ? 2 :
	    processors > QUESTIONS_MAX	   ? QUESTIONS_MAX :
					     (size_t)processors;
	const size_t n = f->accounts->n;
	/* Account i has the settings of account like[i]. */
	size_t *like = sshd_match_alike(f->accounts, match);
	struct sshd_question q[QUESTIONS_MAX];
	size_t asked = 0, answered = 0, ahead = 0;
	bool ok = like != NULL;
	char why[1024];

	for (size_t i = 0; ok && i < n; i++) {
		struct sshd_settings *s;

		if (like[i] != i) {
			f->of_account[i] = f->of_account[like[i]];
			continue;
		}
		for (; ahead < n && asked - answered < ring; ahead++)
			if (like[ahead] == ahead)
				sshd_ask(f->sshd, f->accounts->v[ahead].name,
				    &q[asked++ % ring]);
		s = sshd_answer(&q[answered++ % ring], why, sizeof(why));
		if (s == NULL)
			report_reason(f->r, f->accounts->v[i].name, why);
		f->of_account[i] = find_policy(f, s);
		ok = f->of_account[i] != NULL;
	}
	free(like);
	return ok;
}

bool
audit_policies_find(struct audit_policies *p, const struct sshd *sshd,
    const struct accounts *accounts, const struct audit_policy **of_account,
    struct report *r)
{
	struct finder f = {
		.p = p,
		.sshd = sshd,
		.accounts = accounts,
		.of_account = of_account,
		.r = r,
	};
	struct sshd_overview overview;
	struct sshd_settings *s;
	struct sshd_question q;
	char why[1024];
	bool ok;

	*p = (struct audit_policies){ 0 };
	if (sshd == NULL)
		return set_policy_of_all(&f, NULL);
	if (access(sshd->path, X_OK) == -1) {
		cli_error("warning: %s: %s: the accounts' files are taken from "
			  "keyveto.conf (--sshd names another sshd)",
		    sshd->path, strerror(errno));
		return set_policy_of_all(&f, NULL);
	}
	/* Ask about root, to find out whether sshd answers at all. */
	sshd_ask(sshd, "root", &q);
	if ((s = sshd_answer(&q, why, sizeof(why))) == NULL) {
		report_reason(r, sshd->path, why);
		cli_error("the accounts' files are taken from keyveto.conf "
			  "until 'sshd -T' works here");
		return set_policy_of_all(&f, NULL);
	}
	/* Older versions know no wildcards. */
	if (sshd_version_at_least(sshd->path, 10, 0))
		f.sshd_wildcards = KV_WILDCARDS_YES;
	sshd_overview(sshd, &overview);
	if (overview.varies && overview.by_origin && !r->quiet)
		cli_error(
		    "note: Match blocks of sshd's configuration test where a "
		    "client connects from: the audit shows what holds for "
		    "127.0.0.1");
	if (overview.odd_pattern)
		report_reason(r, sshd->path,
		    "AuthorizedKeysFile names a file with a blank, quote, "
		    "backslash or #, which sshd -T does not show as one: run "
		    "keyveto check on it");
	if (overview.varies) {
		sshd_settings_free(s);
		ok = ask_for_each(&f, &overview.match);
	} else
		ok = set_policy_of_all(&f, s);
	sshd_overview_free(&overview);
	return ok;
}

void
audit_policies_free(struct audit_policies *p)
{
	for (size_t i = 0; i < p->n; i++) {
		sshd_settings_free(p->v[i]->settings);
		kv_config_free(&p->v[i]->guard);
		guard_files_free(&p->v[i]->files);
		free(p->v[i]);
	}
	free(p->v);
	*p = (struct audit_policies){ 0 };
}
