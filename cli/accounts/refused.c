/* SPDX-License-Identifier: ISC */
#include "accounts/refused.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "accounts/files.h"
#include "accounts/policy.h"
#include "base/room.h"
#include "upkeep/administrators.h"

/* False without memory. */
static bool
add_refused(struct audit_refused *h, const struct account *account,
    bool locked_out)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].account == account)
			return true;
	if (!room_for_one(&h->v, h->n, sizeof(*h->v)))
		return false;
	h->v[h->n++] = (struct audit_refused_account){
		.account = account,
		.locked_out = locked_out,
	};
	h->n_locked_out += locked_out;
	return true;
}

/* False without memory. */
static bool
add_unjudged(struct audit_refused *h, const struct account *account)
{
	for (size_t i = 0; i < h->n_unjudged; i++)
		if (h->unjudged[i] == account)
			return true;
	if (!room_for_one(&h->unjudged, h->n_unjudged,
		sizeof(struct account *)))
		return false;
	h->unjudged[h->n_unjudged++] = account;
	return true;
}

static bool
count_account(const struct audit_found *found, void *arg)
{
	const struct report *before = &found->before, *after = &found->after;
	const struct account *account = found->account;
	struct audit_refused *h = arg;
	const uint64_t problems = after->problems - before->problems,
		       keyless = problems + found->links -
	    (after->unjudged - before->unjudged);

	if (problems > 0 && !texts_add(&h->unknown, account->name))
		return false;
	if (keyless > 0 && !administrators_has_any(account))
		h->keyless += keyless;
	if (after->unjudged > before->unjudged && !add_unjudged(h, account))
		return false;
	h->by_certificate |= found->has_ca && administrators_has_any(account);
	if (found->refused && !add_refused(h, account, !found->let_in))
		return false;
	return after->listed == before->listed ||
	    audit_table_add(&h->table, "account", account->name, before, after);
}

bool
audit_refused_join(struct audit_refused *h, const struct audit_refused *other)
{
	bool ok = true;

	for (size_t i = 0; ok && i < other->n; i++)
		ok = add_refused(h, other->v[i].account,
		    other->v[i].locked_out);
	for (size_t i = 0; ok && i < other->n_unjudged; i++)
		ok = add_unjudged(h, other->unjudged[i]);
	for (size_t i = 0; ok && i < other->unasked.n; i++)
		ok = texts_add_new(&h->unasked, other->unasked.v[i]);
	if (other->refused_cas > h->refused_cas)
		h->refused_cas = other->refused_cas;
	h->unjudged_settings |= other->unjudged_settings;
	return ok;
}

/* Is the readers' on_unasked. */
static void
on_unasked(const char *text, void *arg)
{
	struct audit_refused *h = arg;

	(void)texts_add_new(&h->unasked, text);
}

/* Adds the commands that cannot be asked. Whether one can, in *anyp. */
static bool
add_commands(struct audit_refused *h, const struct audit_policies *p,
    bool *anyp)
{
	char text[SSHD_VALUE_BYTES];
	bool ok = true;

	*anyp = false;
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; ok && k < p->v[i]->n_commands; k++) {
			const struct audit_command *c = &p->v[i]->command[k];

			*anyp |= c->unasked == NULL;
			if (c->unasked == NULL)
				continue;
			snprintf(text, sizeof(text),
			    "AuthorizedKeysCommand %.4096s: %s", c->as.text,
			    c->unasked);
			ok = texts_add_new(&h->unasked, text);
		}
	return ok;
}

bool
audit_refused_find(struct audit_refused *h, const struct sshd *sshd,
    const struct accounts *accounts, const struct change_hold *hold,
    unsigned int seconds, struct report *r)
{
	struct audit_readers readers = {
		.accounts = accounts,
		.timeout = seconds,
		.on_unasked = on_unasked,
		.unasked_arg = h,
	};
	uint8_t *asks = NULL;
	bool asked = false;
	struct audit_policies policies = { 0 };
	struct report before = *r;
	bool ok;

	*h = (struct audit_refused){ .n = 0 };
	readers.policy_of = calloc(accounts->n + 1,
	    sizeof(struct audit_policy *));
	ok = readers.policy_of != NULL &&
	    audit_policies_find(&policies, sshd, accounts, readers.policy_of,
		r);
	h->unjudged_settings = r->unjudged > before.unjudged;
	ok = ok && add_commands(h, &policies, &asked);
	if (ok && asked)
		ok = (readers.asks = asks = administrators_mark(accounts,
			  hold)) != NULL;
	ok = ok && audit_accounts(r, &readers, count_account, h);
	if (ok) {
		before = *r;
		audit_user_cas(r, &policies, false);
		h->by_certificate |= r->keys > before.keys;
		h->listed_cas = (size_t)(r->listed - before.listed);
		h->refused_cas = (size_t)(r->refused - before.refused);
		h->unjudged_settings |= r->unjudged > before.unjudged;
		ok = h->listed_cas == 0 ||
		    audit_table_add(&h->table, "user CA keys", NULL, &before,
			r);
	}
	if (!ok)
		cli_error("%s", strerror(errno));
	free(asks);
	free(readers.policy_of);
	audit_policies_free(&policies);
	return ok;
}

/* Prints what, and the names of the accounts that are locked out, or are not. */
static void
print_names(const struct audit_refused *h, bool locked_out, const char *what)
{
	bool any = false;

	for (size_t i = 0; i < h->n; i++) {
		const char *name = h->v[i].account->name;

		if (h->v[i].locked_out != locked_out)
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
	print_names(h, false, "a key would be refused, and not each, of:");
	print_names(h, true, "each key would be refused of:");
	if (h->unknown.n > 0) {
		fputs("whose keys could not all be judged:", stdout);
		for (size_t i = 0; i < h->unknown.n; i++)
			cli_printf(stdout, " %s", h->unknown.v[i]);
		putchar('\n');
	}
}

void
audit_refused_free(struct audit_refused *h)
{
	audit_table_free(&h->table);
	free(h->v);
	texts_free(&h->unknown);
	free(h->unjudged);
	texts_free(&h->unasked);
	*h = (struct audit_refused){ .n = 0 };
}
