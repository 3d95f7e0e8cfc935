/* SPDX-License-Identifier: ISC */
#include "ways/pam_decision.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * PAM's answer is the first "bad" or "die", else the last "ok" or "done", else
 * a failure. So a line that succeeds changes the answer only where no other
 * line does one of the four. "reset" takes back what lines of the same substack
 * did, and a substack can be left before its last line.
 */

/*
 * Modules whose pam_sm_open_session never answers PAM_IGNORE: "required" lets
 * that pass without a decision. A module that cannot be loaded counts as
 * PAM_MODULE_UNKNOWN, which is "bad".
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

static bool
word_is(const char *word, size_t len, const char *text)
{
	return strlen(text) == len && memcmp(word, text, len) == 0;
}

/*
 * Whether a word of a bracketed control, "value=action", leads to a decision.
 * What libpam cannot read is "bad", and so is a value that no word names.
 */
static bool
word_decides(const char *word, size_t len, bool ignores)
{
	static const char *const actions[] = { "ok", "done", "bad", "die" };
	const char *equals = memchr(word, '=', len), *action;

	if (!ignores && word_is(word, len, "ignore=ignore"))
		return true;
	if (equals == NULL)
		return false;
	action = equals + 1;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (word_is(action, len - (size_t)(action - word), actions[i]))
			return true;
	return false;
}

/* Whether a line decides once PAM runs it, whatever its module answers. */
static bool
line_decides(const struct pam_line *l)
{
	const bool ignores = !never_ignores(l);
	const char *p = l->control;

	if (*p != '[')
		return !ignores &&
		    (strcmp(p, "required") == 0 || strcmp(p, "requisite") == 0);
	for (p++; *(p += strspn(p, " \t")) != '\0' && *p != ']';) {
		size_t len = strcspn(p, " \t]");

		if (!word_decides(p, len, ignores))
			return false;
		p += len;
	}
	return true;
}

/* How many lines PAM may pass over after this one: the largest number. */
static unsigned long
longest_jump(const char *control)
{
	unsigned long longest = 0, n;
	char *end;

	for (const char *p = control; *p != '\0';) {
		if (!isdigit((unsigned char)*p)) {
			p++;
			continue;
		}
		/* Too large a number is ULONG_MAX. */
		n = strtoul(p, &end, 10);
		if (n > longest)
			longest = n;
		p = end;
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
		/* For a jump a whole substack is one line: not counting it is
		 * on the safe side. A jump in it ends in it. */
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
