/* SPDX-License-Identifier: ISC */
#include "sshd_config/escape.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sshd_config/guard_command.h"
#include "sshd_config/match.h"
#include "sshd_config/words.h"

static bool
is(const struct sshd_line *l, const char *keyword)
{
	return strcasecmp(l->keyword, keyword) == 0;
}

/* Whether certificates by a CA are taken anywhere. */
static bool
trusts_user_ca(const struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (is(&t->line[i], "TrustedUserCAKeys") &&
		    !sshd_words_none(t->line[i].value))
			return true;
	return false;
}

bool
sshd_escape_opens(const struct sshd_tree *t, const struct sshd_line *l)
{
	const char *args;

	if (is(l, "AuthorizedKeysFile") || is(l, "TrustedUserCAKeys"))
		return !sshd_words_none(l->value);
	if (is(l, "AuthorizedKeysCommand"))
		return !sshd_words_none(l->value) &&
		    !guard_command(l->value, &args);
	/* Without a command, sshd itself takes the account's name. */
	if (is(l, "AuthorizedPrincipalsCommand"))
		return !guard_command(l->value, &args) && trusts_user_ca(t);
	if (is(l, "AuthorizedPrincipalsFile"))
		return !sshd_words_none(l->value) && trusts_user_ca(t);
	return is(l, "HostbasedAuthentication") &&
	    !sshd_words_is(l->value, "no");
}

static bool
asks_for_origin(const char *criteria)
{
	char *copy = strdup(criteria), *rest = copy;
	const char *criterion, *argument;
	bool origin = copy == NULL;

	while (!origin && sshd_match_next(&rest, &criterion, &argument))
		origin = sshd_match_is_origin(criterion);
	free(copy);
	return origin;
}

bool
sshd_escape_by_origin(const struct sshd_tree *t, const struct sshd_line *l)
{
	for (size_t match = l->match; match != 0;
	    match = t->line[match - 1].match)
		if (asks_for_origin(t->line[match - 1].value))
			return true;
	return false;
}
