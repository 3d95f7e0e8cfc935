/* SPDX-License-Identifier: ISC */
#include "ways/blocks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sshd_config/match.h"
#include "sshd_config/words.h"
#include "ways/ways.h"

bool
sshd_escape_trusts_user_ca(const struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (strcasecmp(t->line[i].keyword, "TrustedUserCAKeys") == 0 &&
		    !sshd_words_none(t->line[i].value))
			return true;
	return false;
}

bool
sshd_escape_opens(const struct sshd_tree *t, const struct sshd_line *l)
{
	return ways_line_opens(l->keyword, l->value,
	    sshd_escape_trusts_user_ca(t));
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
