/* SPDX-License-Identifier: ISC */
#include "upkeep/administrators.h"

#include <grp.h>
#include <stdlib.h>

#include "upkeep/settings.h"

#define GROUPS_MAX 1024

const char *
administrators_group(const struct change_hold *hold,
    const struct account *account)
{
	static gid_t of_account[GROUPS_MAX];
	int n = GROUPS_MAX;
	const struct group *g;

	if (account->uid == 0)
		return "";
	if (getgrouplist(account->name, account->gid, of_account, &n) == -1)
		return "unknown";
	for (size_t i = 0; i < hold->n_groups; i++) {
		if ((g = getgrnam(hold->group[i])) == NULL)
			continue;
		for (int j = 0; j < n; j++)
			if (of_account[j] == g->gr_gid)
				return hold->group[i];
	}
	return NULL;
}

/* The same for root, and each hold of c, which is whole only if readable. */
static bool
is_any(const struct update_conf *c, bool readable,
    const struct account *account)
{
	bool found = !readable;

	for (size_t i = 0; !found && i < c->n; i++)
		found = administrators_group(&c->source[i].hold, account) !=
		    NULL;
	return found;
}

bool
administrators_has_any(const struct account *account)
{
	struct update_conf c;
	bool found;

	update_conf_defaults(&c);
	found = is_any(&c, update_conf_read(NULL, &c), account);
	update_conf_free(&c);
	return found;
}

uint8_t *
administrators_mark(const struct accounts *accounts,
    const struct change_hold *hold)
{
	uint8_t *marks = calloc(accounts->n + 1, sizeof(*marks));
	struct update_conf c;
	bool readable;

	update_conf_defaults(&c);
	readable = update_conf_read(NULL, &c);
	for (size_t i = 0; marks != NULL && i < accounts->n; i++)
		marks[i] = is_any(&c, readable, &accounts->v[i]) ||
		    (hold != NULL &&
			administrators_group(hold, &accounts->v[i]) != NULL);
	update_conf_free(&c);
	return marks;
}
