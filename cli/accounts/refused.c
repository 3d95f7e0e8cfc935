/* SPDX-License-Identifier: ISC */
#include "accounts/refused.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "accounts/files.h"
#include "accounts/policy.h"
#include "accounts/revoked.h"
#include "accounts/way_in.h"
#include "base/room.h"

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

/* False without memory. */
static bool
add_refused(struct audit_refused *h, const struct account *account,
    bool refused, bool locked_out)
{
	if (!room_for_one(&h->v, h->n, sizeof(*h->v)))
		return false;
	h->v[h->n++] = (struct audit_refused_account){
		.account = account,
		.refused = refused,
		.locked_out = locked_out,
	};
	h->n_refused += refused;
	h->n_locked_out += locked_out;
	return true;
}

/* False without memory. */
static bool
add_unjudged(struct audit_refused *h, const struct account *account)
{
	if (!room_for_one(&h->unjudged, h->n_unjudged,
		sizeof(struct account *)))
		return false;
	h->unjudged[h->n_unjudged++] = account;
	return true;
}

/* Whether a way in has a key that is sure to let the account in. */
static bool
is_sure(const struct audit_found *found, size_t way)
{
	const struct audit_way *w = &found->policy->way[way];
	bool sure = (found->sure >> way & 1) != 0;

	for (size_t i = 0; !sure && i < found->n_candidates; i++) {
		const struct audit_candidate *c = &found->candidate[i];

		sure = (c->ways >> way & 1) != 0 &&
		    !revoked_has(w->settings,
			(struct kv_span){ c->blob, c->len }, true);
	}
	return sure;
}

/*
 * Whether a way in has a refused key, and no other key that is sure to let the
 * account in. below_root: the machine is another one, which cannot be asked
 * about its accounts.
 */
static bool
is_locked_out(const struct audit_found *found, bool below_root)
{
	const struct audit_policy *policy = found->policy;
	const struct account *account = found->account;

	for (size_t i = 0; i < policy->n_ways; i++) {
		const struct audit_way *way = &policy->way[i];

		if ((found->refused >> i & 1) == 0)
			continue;
		if (way->doubtful ||
		    (way->doubtful_for_root && account->uid == 0) ||
		    !is_sure(found, i) ||
		    (!below_root && !way_in_admits(way->settings, account)))
			return true;
	}
	return false;
}

/* Whether the account may come in by a key that is refused then. */
static bool
loses_key(const struct audit_found *found, bool below_root)
{
	const struct audit_policy *policy = found->policy;

	for (size_t i = 0; i < policy->n_ways; i++) {
		const struct audit_way *way = &policy->way[i];

		if ((found->lost >> i & 1) != 0 &&
		    (below_root || way->doubtful ||
			!way_in_is_closed(way->settings, found->account)))
			return true;
	}
	return false;
}

struct count {
	struct audit_refused *h;
	bool below_root;
};

/* Counts an account. */
static bool
count_account(const struct audit_found *found, void *arg)
{
	const struct report *before = &found->before, *after = &found->after;
	const struct account *account = found->account;
	const struct count *c = arg;
	struct audit_refused *h = c->h;
	const bool refused = loses_key(found, c->below_root);

	if (after->problems > before->problems &&
	    !add_name(&h->unknown, account->name))
		return false;
	if (after->unjudged > before->unjudged && !add_unjudged(h, account))
		return false;
	return after->listed == before->listed ||
	    (add_refused(h, account, refused,
		 refused && is_locked_out(found, c->below_root)) &&
		audit_table_add(&h->table, "account", account->name, before,
		    after));
}

bool
audit_refused_find(struct audit_refused *h, const struct sshd *sshd,
    const struct accounts *accounts, const char *root, unsigned int seconds,
    struct report *r)
{
	struct audit_readers readers = {
		.accounts = accounts,
		.root = root,
		.timeout = seconds,
	};
	struct audit_policies policies = { 0 };
	struct count count = { .h = h, .below_root = *root != '\0' };
	struct report before = *r;
	bool ok;

	*h = (struct audit_refused){ .n = 0 };
	readers.policy_of = calloc(accounts->n + 1,
	    sizeof(struct audit_policy *));
	ok = readers.policy_of != NULL &&
	    audit_policies_find(&policies, sshd, accounts, root,
		readers.policy_of, r);
	h->unjudged_settings = r->unjudged > before.unjudged;
	ok = ok && audit_accounts(r, &readers, count_account, &count);
	if (ok) {
		before = *r;
		audit_user_cas(r, &policies, root, false);
		h->listed_cas = (size_t)(r->listed - before.listed);
		h->refused_cas = (size_t)(r->refused - before.refused);
		h->unjudged_settings |= r->unjudged > before.unjudged;
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

/* Prints what, and the names of the accounts of which both are true. */
static void
print_names(const struct audit_refused *h, bool refused, bool locked_out,
    const char *what)
{
	bool any = false;

	for (size_t i = 0; i < h->n; i++) {
		const char *name = h->v[i].account->name;

		if (h->v[i].refused != refused ||
		    h->v[i].locked_out != locked_out)
			continue;
		if (!any)
			fputs(what, stdout);
		any = true;
		cli_printf(stdout, " %s", name);
	}
	if (any)
		putchar('\n');
}

void
audit_refused_print(const struct audit_refused *h)
{
	if (h->table.n > 0)
		audit_table_print(&h->table);
	print_names(h, false, false, "has a listed key, nothing changes for:");
	print_names(h, true, false,
	    "refused with a listed key, let in with another:");
	print_names(h, true, true,
	    "locked out, with no other key that is sure to let them in:");
	if (h->unknown != NULL)
		cli_printf(stdout, "whose keys could not all be judged:%s\n",
		    h->unknown);
}

void
audit_refused_free(struct audit_refused *h)
{
	audit_table_free(&h->table);
	free(h->v);
	free(h->unknown);
	free(h->unjudged);
	*h = (struct audit_refused){ .n = 0 };
}
