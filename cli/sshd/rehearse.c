/* SPDX-License-Identifier: ISC */
#include "sshd/rehearse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/accounts.h"
#include "audit/policy.h"
#include "audit/table.h"
#include "sshd/usable.h"

struct rehearsal {
	struct audit_table table;
	size_t n_refused;    /* accounts with a listed key */
	size_t n_locked_out; /* those of them without another key */
	/*
	 * Listed CAs in TrustedUserCAKeys. No server knows who has a
	 * certificate of one, so that they are counted by themselves.
	 */
	size_t listed_cas;
	bool unsupported_enter; /* OnUnsupported lets such keys in */
	char *refused, *locked_out, *unknown; /* " NAME NAME", or NULL */
};

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
	h->n_refused++;
	if (good == 0)
		h->n_locked_out++;
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
		audit_table_print(&h->table);
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		if (names[i] == NULL)
			continue;
		fputs(what[i], stdout);
		cli_print_safe(stdout, names[i], strlen(names[i]));
		putchar('\n');
	}
}

/* Audits all accounts and TrustedUserCAKeys. False after a message. */
static bool
audit_all(const struct sshd_options *o, const struct sshd_copy *base,
    const struct accounts *accounts, struct rehearsal *h, struct report *r)
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
	struct report before;
	bool ok;

	readers.policy_of = calloc(accounts->n + 1,
	    sizeof(struct audit_policy *));
	ok = readers.policy_of != NULL &&
	    audit_policies_find(&policies, &sshd, accounts, readers.policy_of,
		r) &&
	    audit_accounts(r, &readers, count_account, h);
	if (ok) {
		before = *r;
		audit_user_cas(r, &policies, o->root, false);
		h->listed_cas = r->listed - before.listed;
		ok = h->listed_cas == 0 ||
		    audit_table_add(&h->table, "user CA keys", NULL, &before,
			r);
	}
	if (!ok)
		cli_error("%s", strerror(errno));
	free(readers.policy_of);
	audit_policies_free(&policies);
	return ok;
}

int
sshd_rehearse(const struct sshd_options *o, const struct sshd_copy *base,
    const struct accounts *accounts)
{
	struct rehearsal h = { 0 };
	struct kv_judge judge;
	struct report r = {
		.judge = &judge,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
	};
	bool ok;

	if (!sshd_usable_open(o, KV_CONFIG_PATH, &judge))
		return CLI_UNCHECKED;
	h.unsupported_enter = judge.config.on_unsupported != KV_ACTION_DENY;
	if ((ok = audit_all(o, base, accounts, &h, &r))) {
		print_accounts(&h);
		report_summary(&r);
		ok = cli_stdout_ok();
	}
	audit_table_free(&h.table);
	free(h.refused);
	free(h.locked_out);
	free(h.unknown);
	kv_judge_close(&judge);
	if (!ok)
		return CLI_UNCHECKED;
	if (h.n_refused > 0)
		cli_error("%zu account%s with a listed key, %zu of them "
			  "without another",
		    h.n_refused, h.n_refused == 1 ? "" : "s", h.n_locked_out);
	if (h.listed_cas > 0)
		cli_error("%zu listed CA%s in TrustedUserCAKeys: whoever comes "
			  "with such a certificate would be refused",
		    h.listed_cas, h.listed_cas == 1 ? "" : "s");
	/* Problems with sshd's answers are counted for no account. */
	if (r.problems > 0)
		cli_error("not everything could be judged: there may be more "
			  "listed keys");
	if ((h.n_refused == 0 && h.listed_cas == 0 && r.problems == 0) ||
	    o->warn || o->yes || o->dry_run)
		return 0;
	cli_error("nothing was changed: have those keys replaced first, let "
		  "everybody in for now with --warn, or go on with --yes");
	return SSHD_NOT_DONE;
}
