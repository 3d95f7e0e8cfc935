/* SPDX-License-Identifier: ISC */
#include "update/task.h"

#include "command.h"

bool
update_task_do(struct working_task *t, const char *shown, const bool *donep)
{
	char why[WALL_WHY_BYTES];
	const bool ok = working_do(t, why);

	if (ok && *donep)
		return true;
	if (t->stopped != NULL && t->stopped())
		cli_error("%s: interrupted", shown);
	else
		cli_error("%s: cannot be read: %s", shown,
		    ok ? "the worker told nothing" : why);
	return false;
}
