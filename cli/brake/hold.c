/* SPDX-License-Identifier: ISC */
/*
 * brake/hold: HoldIfRefused. Says whether a change would lock out an
 * administrator, or refuse too many accounts.
 */
#include "brake/parts.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "upkeep/administrators.h"

bool
brake_hold_add(struct accounts *accounts, const char *name)
{
	for (size_t i = 0; i < accounts->n; i++)
		if (strcmp(accounts->v[i].name, name) == 0)
			return true;
	return accounts_add(accounts, name) || errno != ENOMEM;
}

bool
brake_hold_add_members(const struct change_hold *hold,
    struct accounts *accounts)
{
	for (size_t i = 0; i < hold->n_groups; i++) {
		const struct group *g = getgrnam(hold->group[i]);

		for (char **name = g != NULL ? g->gr_mem : NULL;
		     name != NULL && *name != NULL; name++)
			if (!brake_hold_add(accounts, *name))
				return false;
	}
	return true;
}

/*
 * Prints what could not be judged: it may be what lets an administrator in.
 * Returns whether anything could not.
 */
static bool
report_unjudged(const struct change_hold *hold, const struct brake_held *h)
{
	const struct audit_refused *found = h->found;
	bool any = found->unjudged_settings;

	if (any)
		cli_error("%s: not all keys that sshd lets in could be "
			  "compared with %s, for the reason above",
		    h->path, h->what);
	for (size_t i = 0; i < found->n_unjudged; i++) {
		const struct account *a = found->unjudged[i];

		if (administrators_group(hold, a) == NULL)
			continue;
		cli_error("%s: not all keys of %s could be compared with %s, "
			  "for the reason above",
		    h->path, a->name, h->what);
		any = true;
	}
	return any;
}

/* Prints whether more accounts would be refused than hold allows. */
static bool
report_too_many(const struct change_hold *hold, const struct brake_held *h)
{
	const size_t n = h->found->n;
	char since[128] = "";

	if (n == 0 || h->together <= hold->accounts)
		return false;
	if (h->before > 0)
		snprintf(since, sizeof(since),
		    "; with those that were refused since somebody last gave "
		    "--yes, that makes %zu",
		    h->together);
	return !cli_error("%s: %s would refuse keys of %zu accounts%s, more "
			  "than HoldIfRefused allows (%" PRIu64 ")",
	    h->path, h->what, n, since, hold->accounts);
}

/* Prints of whom a key is refused that must not be. Returns whether any is. */
static bool
report_administrators(const struct change_hold *hold,
    const struct brake_held *h)
{
	bool any = false;

	for (size_t i = 0; i < h->found->n; i++) {
		const struct account *a = h->found->v[i].account;
		const char *group = administrators_group(hold, a);

		if (group == NULL)
			continue;
		cli_error("%s: %s would refuse a key of %s%s%s%s", h->path,
		    h->what, a->name,
		    *group != '\0' ? ", an administrator (group " : "", group,
		    *group != '\0' ? ")" : "");
		any = true;
	}
	return any;
}

bool
brake_hold_keeps(const struct change_hold *hold, const struct brake_held *h)
{
	const size_t cas = h->found->refused_cas;
	bool held;

	if (hold->never)
		return false;
	held = report_unjudged(hold, h) && h->unjudged;
	held |= report_too_many(hold, h);
	if (cas > 0)
		cli_error("%s: %s would refuse all certificates of %zu %s in "
			  "TrustedUserCAKeys",
		    h->path, h->what, cas, cli_plural(cas, "CA", "CAs"));
	return report_administrators(hold, h) || held || cas > 0;
}
