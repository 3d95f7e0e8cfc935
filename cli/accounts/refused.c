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
    bool locked_out)
{
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
	if (!room_for_one(&h->unjudged, h->n_unjudged,
		sizeof(struct account *)))
		return false;
	h->unjudged[h->n_unjudged++] = account;
	return true;
}

/* Counts an account. */
static bool
count_account(const struct audit_found *found, void *arg)
{
	const struct report *before = &found->before, *after = &found->after;
	const struct account *account = found->account;
	struct audit_refused *h = arg;

	if (after->problems > before->problems &&
	    !add_name(&h->unknown, account->name))
		return false;
	if (after->unjudged > before->unjudged && !add_unjudged(h, account))
		return false;
	h->by_certificate |= found->has_ca && administrators_has_any(account);
	if (found->refused && !add_refused(h, account, !found->let_in))
		return false;
	return after->listed == before->listed ||
	    audit_table_add(&h->table, "account", account->name, before, after);
}

bool
audit_refused_add_unasked(struct audit_refused *h, const char *text)
{
	for (size_t i = 0; i < h->n_unasked; i++)
		if (strcmp(h->unasked[i], text) == 0)
			return true;
	if (!room_for_one(&h->unasked, h->n_unasked, sizeof(char *)) ||
	    (h->unasked[h->n_unasked] = strdup(text)) == NULL)
		return false;
	h->n_unasked++;
	return true;
}

/* Is the readers' on_unasked. */
static void
on_unasked(const char *text, void *arg)
{
	(void)audit_refused_add_unasked(arg, text);
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
			ok = audit_refused_add_unasked(h, text);
		}
	return ok;
}

bool
audit_refused_find(struct audit_refused *h, const struct sshd *sshd,
    const struct accounts *accounts, const char *root,
    const struct change_hold *hold, unsigned int seconds, struct report *r)
{
	struct audit_readers readers = {
		.accounts = accounts,
		.root = root,
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
	    audit_policies_find(&policies, sshd, accounts, root,
		readers.policy_of, r);
	h->unjudged_settings = r->unjudged > before.unjudged;
	ok = ok && add_commands(h, &policies, &asked);
	if (ok && asked)
		ok = (readers.asks = asks = administrators_mark(accounts,
			  hold)) != NULL;
	ok = ok && audit_accounts(r, &readers, count_account, h);
	if (ok) {
		before = *r;
		audit_user_cas(r, &policies, root, false);
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
	for (size_t i = 0; i < h->n_unasked; i++)
		free(h->unasked[i]);
	free(h->unasked);
	*h = (struct audit_refused){ .n = 0 };
}
