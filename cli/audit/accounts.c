/* SPDX-License-Identifier: ISC */
#include "audit/accounts.h"

#include <unistd.h>

#include "audit/as_user.h"

#define READERS_MAX 16

void
audit_on_key(const struct input_key *key, void *report)
{
	report_key(report, key);
}

void
audit_on_problem(const struct input_problem *problem, void *report)
{
	report_problem(report, problem);
}

void
audit_on_file(const char *path, void *report)
{
	struct report *r = report;

	(void)path;
	r->files++;
}

static void
print_note(const char *text, void *report)
{
	const struct report *r = report;

	if (!r->quiet)
		cli_error("note: %s: sshd does not use this file; its keys are "
			  "audited all the same",
		    text);
}

static void
start_account_reader(const struct audit_readers *a, size_t i, struct as_user *u)
{
	const struct audit_policy *policy = a->policy_of[i];

	*u = (struct as_user){
		.account = &a->accounts->v[i],
		.root = a->root,
		.pattern = policy->pattern,
		.n_patterns = policy->n_patterns,
		.strictmodes = policy->strictmodes,
		.wildcards = policy->wildcards,
	};
	as_user_start(u);
}

static size_t
readers_at_a_time(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 2)
		n = 2;
	return n >= READERS_MAX ? READERS_MAX : (size_t)n + 1;
}

/*
 * Several readers run at a time; each blocks when its pipe is full. So findings
 * come in the order of the accounts, and are not stored.
 */
bool
audit_accounts(struct report *r, const struct audit_readers *a,
    bool (*done)(const struct account *account, const struct report *before,
	const struct report *after, void *arg),
    void *arg)
{
	const struct as_user_sink sink = {
		.input = {
			.key = audit_on_key, .problem = audit_on_problem,
			.file = audit_on_file, .arg = r,
		},
		.note = print_note,
	};
	const size_t ring = readers_at_a_time(), n = a->accounts->n;
	struct as_user reader[READERS_MAX];
	size_t started = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < n; i++) {
		const struct report before = *r;

		for (; started < n && started - i < ring; started++)
			start_account_reader(a, started,
			    &reader[started % ring]);
		r->account = a->accounts->v[i].name;
		as_user_finish(&reader[i % ring], a->timeout, &sink);
		r->account = NULL;
		ok = done(&a->accounts->v[i], &before, r, arg);
	}
	return ok;
}
