/* SPDX-License-Identifier: ISC */
#include "sshd/rehearse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/accounts.h"
#include "audit/policy.h"
#include "audit/table.h"
#include "audit/user_ca.h"
#include "sshd/usable.h"

struct rehearsal {
	struct sshd_rehearsal *found;
	struct audit_table table;
	bool unsupported_enter; /* OnUnsupported lets such keys in */
	char *refused, *locked_out, *unknown; /* " NAME NAME", or NULL */
};

/*
 * Audits TrustedUserCAKeys. No server knows who has a certificate of a listed
 * CA, so that such a CA is counted by itself. False with errno.
 */
static bool
rehearse_user_cas(struct report *r, const struct audit_policies *policies,
    const char *root, struct rehearsal *h)
{
	const struct report before = *r;

	audit_user_cas(r, policies, root, false);
	h->found->listed_cas = r->listed - before.listed;
	return h->found->listed_cas == 0 ||
	    audit_table_add(&h->table, "user CA keys", NULL, &before, r);
}

/* False without memory. */
static bool
add_name(char **list, const char *name)
{
	char *longer;

	if (asprintf(&longer, "%s %s", *list != NULL ? *list : "", name) == -1)
		return false;
	free(*list);
	*list = longer;
	return true;
}

/* Counts an account; r and before are the report with and without its keys. */
static bool
count_account(const struct account *account, const struct report *before,
    const struct report *r, void *arg)
{
	struct rehearsal *h = arg;
	uint64_t good = r->clean - before->clean + r->allowed - before->allowed;

	if (h->unsupported_enter)
		good += r->unsupported - before->unsupported;
	if (r->problems > before->problems &&
	    !add_name(&h->unknown, account->name))
		return false;
	if (r->listed == before->listed)
		return true;
	h->found->refused++;
	if (good == 0)
		h->found->locked_out++;
	return add_name(good == 0 ? &h->locked_out : &h->refused,
		   account->name) &&
	    audit_table_add(&h->table, "account", account->name, before, r);
}

static void
print_accounts(const struct rehearsal *h)
{
	const char *names[] = { h->refused, h->locked_out, h->unknown };
	static const char *const what[] = {
		"refused with a listed key, let in with another:",
		"locked out, with no key left that is not listed:",
		"whose keys could not all be judged:",
	};

	if (h->table.n > 0)
		audit_table_print(&h->table, stdout);
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		if (names[i] == NULL)
			continue;
		fputs(what[i], stdout);
		cli_print_safe(stdout, names[i], strlen(names[i]));
		putchar('\n');
	}
}

static bool
audit_all(const struct sshd_options *o, struct sshd_copy *base,
    struct rehearsal *h, struct report *r, const struct accounts *accounts)
{
	const struct sshd sshd = {
		.path = o->sshd,
		.config = base->top,
		.host_key = base->host_key,
	};
	struct audit_readers readers = {
		.accounts = accounts,
		.root = o->root,
		.timeout = (unsigned int)o->timeout,
	};
	struct audit_policies policies = { 0 };
	bool ok;

	readers.policy_of = calloc(accounts->n + 1,
	    sizeof(struct audit_policy *));
	ok = readers.policy_of != NULL &&
	    audit_policies_find(&policies, &sshd, accounts, readers.policy_of,
		r) &&
	    audit_accounts(r, &readers, count_account, h) &&
	    rehearse_user_cas(r, &policies, o->root, h);
	if (!ok)
		cli_error("%s", strerror(errno));
	free(readers.policy_of);
	audit_policies_free(&policies);
	return ok;
}

bool
sshd_rehearse(const struct sshd_options *o, struct sshd_copy *base,
    struct sshd_rehearsal *found)
{
	struct rehearsal h = { .found = found };
	struct accounts accounts = { 0 };
	struct kv_judge judge;
	struct report r = {
		.judge = &judge,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
	};
	bool ok;

	*found = (struct sshd_rehearsal){ 0 };
	if (!sshd_usable_open(o, KV_CONFIG_PATH, &judge))
		return false;
	h.unsupported_enter = judge.config.on_unsupported != KV_ACTION_DENY;
	ok = sshd_find_accounts(o, &accounts) &&
	    audit_all(o, base, &h, &r, &accounts);
	if (ok) {
		/* Problems with sshd's answers are counted for no account. */
		found->unknown = r.problems > 0;
		print_accounts(&h);
		report_summary(&r);
		ok = cli_stdout_ok();
	}
	audit_table_free(&h.table);
	free(h.refused);
	free(h.locked_out);
	free(h.unknown);
	accounts_free(&accounts);
	kv_judge_close(&judge);
	return ok;
}
