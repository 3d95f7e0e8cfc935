/* SPDX-License-Identifier: ISC */
#include "ways/module.h"

#include <string.h>

const struct pam_line *
ways_find_module(const struct pam_stack *s, bool *judgesp)
{
	const struct pam_line *l;
	size_t i = 0, first = 0;

	while (first < s->n && strcmp(s->line[first].type, "session") != 0)
		first++;
	l = pam_stack_find(s, "session", WAYS_MODULE, &i);
	*judgesp = l != NULL && i == first && !l->substack &&
	    strcmp(l->control, "requisite") == 0;
	return l;
}
