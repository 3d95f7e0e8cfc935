/* SPDX-License-Identifier: ISC */
#include "ways/pam_decision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * PAM's answer is the first "bad" or "die"; without one, the last "ok" or
 * "done"; without one, a failure. So a line that succeeds changes the answer
 * only if no other line does one of the four. Lines in a substack do not count
 * here: "reset" may undo them, and PAM may leave the substack before them.
 */

/*
 * Whether the module's pam_sm_open_session never returns PAM_IGNORE, which
 * decides nothing under "required". For a module that cannot be loaded, PAM
 * uses PAM_MODULE_UNKNOWN, which is "bad".
 */
static bool
never_ignores(const struct pam_line *l)
{
	static const char *const names[] = {
		"pam_deny.so",
		"pam_limits.so",
		"pam_permit.so",
		"pam_unix.so",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(pam_line_module(l), names[i]) == 0)
			return true;
	return false;
}

/*
 * Whether a line decides if PAM runs it, whatever its module returns. libpam
 * uses "bad" for a value that no word of a bracketed control names, and for an
 * action that it cannot read. So each "value=action" has to decide.
 */
static bool
line_decides(const struct pam_line *l)
{
	static const char *const actions[] = { "ok", "done", "bad", "die" };
	const bool ignores = !never_ignores(l);
	char control[PAM_STACK_LINE_BYTES], *rest, *word, *action;

	if (*l->control != '[')
		return !ignores &&
		    (strcmp(l->control, "required") == 0 ||
			strcmp(l->control, "requisite") == 0);
	snprintf(control, sizeof(control), "%s", l->control);
	for (word = strtok_r(control + 1, " \t]", &rest); word != NULL;
	     word = strtok_r(NULL, " \t]", &rest)) {
		bool decides = !ignores && strcmp(word, "ignore=ignore") == 0;

		if ((action = strchr(word, '=')) != NULL)
			for (size_t i = 0; i < 4; i++)
				decides |= strcmp(action + 1, actions[i]) == 0;
		if (!decides)
			return false;
	}
	return true;
}

/* The largest number of lines that PAM may skip after this one. */
static unsigned long
longest_jump(const char *control)
{
	static const char digits[] = "0123456789";
	unsigned long longest = 0, n;
	char *end;

	for (const char *p = control; (p = strpbrk(p, digits)) != NULL;
	     p = end) {
		/* A number that is too large gives ULONG_MAX. */
		n = strtoul(p, &end, 10);
		if (n > longest)
			longest = n;
	}
	return longest;
}

enum pam_decision
pam_decision_judge(const struct pam_stack *s, const char *apart)
{
	enum pam_decision found = PAM_DECISION_OTHER;
	unsigned long jump, passed = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct pam_line *l = &s->line[i];
		bool counts = strcmp(pam_line_module(l), apart) != 0;

		if (strcmp(l->type, "session") != 0)
			continue;
		if (counts)
			found = PAM_DECISION_OPEN;
		/*
		 * A jump takes a whole substack for one line. Not to count it
		 * makes the jump seem longer, which is safe. A jump inside a
		 * substack does not leave it.
		 */
		if (l->substack)
			continue;
		if (counts && passed == 0 && line_decides(l))
			return PAM_DECISION_SURE;
		if (counts && passed > 0)
			passed--;
		jump = longest_jump(l->control);
		if (jump > passed)
			passed = jump;
	}
	return found;
}
