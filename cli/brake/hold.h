/* SPDX-License-Identifier: ISC */
/*
 * brake/hold: HoldIfRefused. Says whether a change would lock out an
 * administrator, or refuse too many accounts.
 */
#ifndef CLI_BRAKE_HOLD_H
#define CLI_BRAKE_HOLD_H

#include "accounts/refused.h"
#include "host/change.h"

/*
 * Adds the members of the groups of hold that the system does not list with the
 * other accounts, as a name service may do. False without memory.
 */
bool brake_hold_add_members(const struct change_hold *hold,
    struct accounts *accounts);

/* What is decided about. */
struct brake_held {
	const struct audit_refused *found;
	const char *path, *what; /* of the change */
	/* The accounts that were refused since somebody last gave --yes. */
	size_t before;
	/* Of these, and of those that the change would refuse. */
	size_t together;
	/*
	 * Keys of an administrator that could not be judged are a reason, too.
	 * They are printed in any case.
	 */
	bool unjudged;
};

/* Whether hold keeps the file as it is; prints why. */
bool brake_hold_keeps(const struct change_hold *hold,
    const struct brake_held *h);

#endif
