/* SPDX-License-Identifier: ISC */
#include "accounts/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/files.h"
#include "command.h"
#include "reading/keys.h"

static bool
add_account(const struct audit_found *found, void *arg)
{
	return audit_table_add(arg, "account", found->account->name,
	    &found->before, &found->after);
}

/* The first problem of a host key file: counts only if it has no key. */
struct host_file {
	struct report *r;
	uint64_t keys, line;
	char *problem;
};

static void
on_host_key(const struct input_key *key, void *arg)
{
	struct host_file *h = arg;

	h->keys++;
	report_key(h->r, key);
}

static void
on_host_problem(const struct input_problem *problem, void *arg)
{
	struct host_file *h = arg;

	if (h->problem != NULL)
		return;
	h->line = problem->line;
	h->problem = strdup(problem->reason);
}

static void
on_host_file(const char *path, void *arg)
{
	struct host_file *h = arg;

	(void)path;
	h->r->files++;
}

/*
 * Judges the public half of a host key, from the file that sshd reads, or else
 * from the .pub file beside it. sshd ignores a missing file, so it is no
 * problem.
 */
static void
audit_host_key(struct report *r, const char *path)
{
	struct host_file h = { .r = r };
	const struct input_sink sink = {
		.key = on_host_key,
		.problem = on_host_problem,
		.file = on_host_file,
		.arg = &h,
		.plain = true,
	};
	char *public_half = NULL;

	if (asprintf(&public_half, "%s.pub", path) == -1)
		public_half = NULL;
	if (access(path, F_OK) == 0)
		reading_keys(path, &sink);
	if (h.keys == 0 && public_half != NULL &&
	    access(public_half, F_OK) == 0)
		reading_keys(public_half, &sink);
	if (h.keys == 0 && h.problem != NULL)
		report_problem_at(r, path, h.line, h.problem);
	free(h.problem);
	free(public_half);
}

static bool
audit_host_keys(struct machine *m)
{
	static const char *const defaults[] = {
		"/etc/ssh/ssh_host_rsa_key",
		"/etc/ssh/ssh_host_ecdsa_key",
		"/etc/ssh/ssh_host_ed25519_key",
		"/etc/ssh/ssh_host_dsa_key",
		"/etc/ssh/ssh_host_mldsa44_ed25519_key",
	};
	const struct sshd_settings *s = NULL;
	const struct report before = *m->report;
	const struct input_sink sink = audit_sink(m->report);

	/* sshd's host keys do not depend on the account. */
	for (size_t i = 0; s == NULL && i < m->policies.n; i++)
		s = m->policies.v[i]->settings;
	if (s == NULL) {
		for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults);
		     i++)
			audit_host_key(m->report, defaults[i]);
	} else {
		for (size_t i = 0; i < s->n_host_keys; i++)
			audit_host_key(m->report, s->host_key[i]);
		for (size_t i = 0; i < s->n_host_certificates; i++)
			reading_keys(s->host_certificate[i], &sink);
	}
	return audit_table_add(m->table, "host keys", NULL, &before, m->report);
}

/* Sets m->accounts. False after a message. */
static bool
find_accounts(struct machine *m)
{
	const uid_t uid = geteuid();
	bool all_mine = m->n_users > 0;

	for (size_t i = 0; i < m->n_users; i++) {
		if (!accounts_add(&m->accounts, m->user[i]))
			return cli_error("account %s: %s", m->user[i],
			    errno == ENOENT ? "there is none of that name" :
					      strerror(errno));
		all_mine &= m->accounts.v[i].uid == uid;
	}
	if (uid != 0 && !all_mine)
		return cli_error(
		    "only root can audit the accounts of others: run it "
		    "as root, or with --user and your own name");
	if (m->n_users == 0 && !accounts_add_all(&m->accounts))
		return cli_error("the list of accounts: %s", strerror(errno));
	if (m->accounts.n == 0)
		cli_error("the system lists no account");
	return m->accounts.n > 0;
}

bool
machine_audit(struct machine *m)
{
	const bool root = geteuid() == 0;
	struct audit_readers readers = {
		.accounts = &m->accounts,
		.timeout = m->timeout,
	};
	struct report *r = m->report, before;
	bool ok;

	if (!find_accounts(m) || (m->begin != NULL && !m->begin(m->arg)))
		return false;
	if (!root)
		cli_error("note: only root can ask sshd for its settings: your "
			  "files are taken from keyveto.conf");
	readers.policy_of = calloc(m->accounts.n + 1,
	    sizeof(struct audit_policy *));
	ok = readers.policy_of != NULL &&
	    audit_policies_find(&m->policies, root ? m->sshd : NULL,
		&m->accounts, readers.policy_of, r);
	if (ok && !r->quiet)
		audit_policies_note_commands(&m->policies);
	ok = ok && audit_accounts(r, &readers, add_account, m->table) &&
	    (m->n_users > 0 || audit_host_keys(m));
	if (ok) {
		before = *r;
		audit_user_cas(r, &m->policies, true);
		ok = audit_table_add(m->table, "user CA keys", NULL, &before,
		    r);
	}
	if (!ok)
		cli_error("%s", strerror(errno));
	free(readers.policy_of);
	return ok;
}

void
machine_free(struct machine *m)
{
	audit_policies_free(&m->policies);
	accounts_free(&m->accounts);
}

bool
machine_each_key(const struct kv_judge *judge, const char *const *user,
    size_t n_users, void (*key)(const struct input_key *key, void *arg),
    void *arg, uint64_t *problemsp)
{
	const struct sshd sshd = { .path = SSHD_PATH };
	struct report report = {
		.judge = judge,
		.quiet = true,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
		.on_key = key,
		.on_key_arg = arg,
	};
	struct audit_table table = { .n = 0 };
	struct machine m = {
		.sshd = &sshd,
		.user = user,
		.n_users = n_users,
		.timeout = MACHINE_TIMEOUT_DEFAULT,
		.report = &report,
		.table = &table,
	};
	const bool ok = machine_audit(&m);

	*problemsp += report.problems;
	audit_table_free(&table);
	machine_free(&m);
	return ok;
}
