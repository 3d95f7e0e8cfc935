/* SPDX-License-Identifier: ISC */
#include "upkeep/administrators.h"

#include <grp.h>

#include "upkeep/settings.h"

#define GROUPS_MAX 1024

bool
administrators_has(const struct change_hold *hold,
    const struct account *account)
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
administrators_has_any(const struct account *account)
{
	struct update_conf c;
	bool found;

	update_conf_defaults(&c);
	found = account->uid == 0 ||
	    administrators_has(&c.source[0].hold, account) ||
	    !update_conf_read(NULL, &c);
	for (size_t i = 0; !found && i < c.n; i++)
		found = administrators_has(&c.source[i].hold, account);
	update_conf_free(&c);
	return found;
}
