/* SPDX-License-Identifier: ISC */
#include "tasks/task.h"

#include "command.h"

bool
tasks_do(const struct working_task *t, const char *shown)
{
	char why[WALL_WHY_BYTES];

	if (working_do(t, why))
		return true;
	if (t->stopped != NULL && t->stopped())
		cli_error("%s: interrupted", shown);
	else
		cli_error("%s: cannot be read: %s", shown, why);
	return false;
}
