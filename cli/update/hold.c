/* SPDX-License-Identifier: ISC */
#include "update/hold.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "update/source.h"

/* For each account. */
#define SECONDS 30
#define GROUPS_MAX 1024

/*
 * Adds the members of the groups of HoldIfRefused that the system does not list
 * with the other accounts, as a name service may do. False without memory.
 */
static bool
add_members(const struct update_hold *hold, struct accounts *accounts)
{
	for (size_t i = 0; i < hold->n_groups; i++) {
		const struct group *g = getgrnam(hold->group[i]);

		for (char **name = g != NULL ? g->gr_mem : NULL;
		     name != NULL && *name != NULL; name++) {
			bool known = false;

			for (size_t j = 0; j < accounts->n && !known; j++)
				known = strcmp(accounts->v[j].name, *name) == 0;
			if (!known && !accounts_add(accounts, *name) &&
			    errno == ENOMEM)
				return false;
		}
	}
	return true;
}

bool
update_hold_audit(const struct update_hold *hold, struct accounts *accounts,
    struct audit_refused *h, struct report *r)
{
	const struct sshd sshd = { .path = SSHD_PATH };
	const bool has_sshd = access(sshd.path, X_OK) == 0;

	if (!has_sshd)
		cli_error("note: %s: %s: the accounts' files are taken from "
			  "keyveto.conf",
		    sshd.path, strerror(errno));
	if (accounts_add_all(accounts) && add_members(hold, accounts))
		return audit_refused_find(h, has_sshd ? &sshd : NULL, accounts,
		    "", SECONDS, r);
	cli_error("the accounts of this machine: %s", strerror(errno));
	return false;
}

/* Whether the account is in one of the groups of HoldIfRefused. */
static bool
has_member(const struct update_hold *hold, const struct account *account)
{
	static gid_t of_account[GROUPS_MAX];
	int n = GROUPS_MAX;
	const struct group *g;

	if (getgrouplist(account->name, account->gid, of_account, &n) == -1)
		return true;
	for (size_t i = 0; i < hold->n_groups; i++) {
		if ((g = getgrnam(hold->group[i])) == NULL)
			continue;
		for (int j = 0; j < n; j++)
			if (of_account[j] == g->gr_gid)
				return true;
	}
	return false;
}

bool
update_hold_is_administrator(const struct account *account)
{
	const struct update_options o = { .settings_path = NULL };
	struct update_conf c;
	bool found;

	update_conf_defaults(&c);
	found = account->uid == 0 || has_member(&c.source[0].hold, account) ||
	    !update_source_read_conf(&o, &c);
	for (size_t i = 0; !found && i < c.n; i++)
		found = has_member(&c.source[i].hold, account);
	update_conf_free(&c);
	return found;
}

/*
 * Prints what could not be judged: it may be what lets an administrator in.
 * Returns whether anything could not.
 */
static bool
is_unjudged(const struct update_hold *hold, const struct audit_refused *h,
    const char *path, const char *new)
{
	bool held = h->unjudged_settings;

	if (held)
		cli_error("%s: not all keys that sshd lets in could be "
			  "compared with %s, for the reason above",
		    path, new);
	for (size_t i = 0; i < h->n_unjudged; i++) {
		const struct account *a = h->unjudged[i];

		if (a->uid != 0 && !has_member(hold, a))
			continue;
		cli_error("%s: not all keys of %s could be compared with %s, "
			  "for the reason above",
		    path, a->name, new);
		held = true;
	}
	return held;
}

bool
update_hold_keeps(const struct update_hold *hold, const struct audit_refused *h,
    const char *path, const char *new, bool unjudged)
{
	bool held;

	if (hold->never)
		return false;
	held = is_unjudged(hold, h, path, new) && unjudged;
	if (h->n > hold->accounts) {
		cli_error("%s: %s would refuse keys of %zu accounts, more than "
			  "HoldIfRefused allows (%" PRIu64 ")",
		    path, new, h->n, hold->accounts);
		held = true;
	}
	if (h->listed_cas > 0) {
		cli_error("%s: %s would refuse all certificates of %zu %s in "
			  "TrustedUserCAKeys",
		    path, new, h->listed_cas,
		    cli_plural(h->listed_cas, "CA", "CAs"));
		held = true;
	}
	for (size_t i = 0; i < h->n; i++) {
		const struct account *a = h->v[i].account;

		if (a->uid == 0)
			cli_error("%s: %s would refuse a key of %s", path, new,
			    a->name);
		else if (h->v[i].locked_out && has_member(hold, a))
			cli_error("%s: %s would refuse the last key of %s, who "
				  "is in a group of HoldIfRefused",
			    path, new, a->name);
		else
			continue;
		held = true;
	}
	return held;
}
