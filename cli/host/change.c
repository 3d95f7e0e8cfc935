/* SPDX-License-Identifier: ISC */
#include "host/change.h"

#include "command.h"

static bool (*judge_change)(const struct change *c, struct change_effect *e);

void
change_set_judge(bool (*judge)(const struct change *c, struct change_effect *e))
{
	judge_change = judge;
}

bool
change_may_take_effect(const struct change *c, struct change_effect *e)
{
	*e = (struct change_effect){ .consulted = false };
	if (judge_change != NULL)
		return judge_change(c, e);
	return cli_error("%s: nothing judges changes in this program", c->path);
}
