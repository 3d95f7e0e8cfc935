/* SPDX-License-Identifier: ISC */
#include "ways/ways.h"

#include <string.h>
#include <strings.h>

#include "sshd_config/guard_command.h"
#include "sshd_config/words.h"

/* Sets WAY_FILES, WAY_COMMAND and WAY_CA_LINE. */
static void
read_key_ways(const struct sshd_settings *s, struct ways *w)
{
	const bool files = !sshd_words_none(s->keys_files);
	const char *args;
	const bool guard = guard_command(s->keys_command, &args);
	const bool chained = guard && guard_chained(args);

	/* A guard without a "--" command prints the files. */
	w->open[WAY_FILES] = files || (guard && !chained);
	w->guard[WAY_FILES] = !files && guard && !chained;
	w->open[WAY_COMMAND] = !sshd_words_none(s->keys_command) &&
	    (!guard || chained);
	w->guard[WAY_COMMAND] = chained;
	w->open[WAY_CA_LINE] = w->open[WAY_FILES] || w->open[WAY_COMMAND];
	w->guard[WAY_CA_LINE] = (!w->open[WAY_FILES] || w->guard[WAY_FILES]) &&
	    (!w->open[WAY_COMMAND] || w->guard[WAY_COMMAND]);
}

void
ways_read(const struct sshd_settings *s, const struct ways_context *c,
    struct ways *w)
{
	const char *args;

	*w = (struct ways){ .pam = c->pam && s->use_pam };
	if (c->keys_elsewhere || s->pubkey) {
		read_key_ways(s, w);
		w->open[WAY_USER_CA] = !sshd_words_none(s->user_ca);
		/* sshd asks AuthorizedPrincipalsFile before the command. */
		w->guard[WAY_USER_CA] = w->open[WAY_USER_CA] &&
		    sshd_words_none(s->principals_file) &&
		    guard_command(s->principals_command, &args) &&
		    guard_chained(args);
	}
	w->open[WAY_HOSTBASED] = s->hostbased;
}

bool
ways_is_guarded(const struct ways *w, enum way way)
{
	return !w->open[way] || w->guard[way] || w->pam;
}

const char *
ways_name(enum way way)
{
	static const char *const names[WAYS] = {
		[WAY_FILES] = "authorized_keys",
		[WAY_COMMAND] = "AuthorizedKeysCommand",
		[WAY_CA_LINE] = "cert-authority line",
		[WAY_USER_CA] = "TrustedUserCAKeys",
		[WAY_HOSTBASED] = "hostbased",
	};

	return names[way];
}

const struct pam_line *
ways_find_module(const struct pam_stack *s, bool *judgesp)
{
	const struct pam_line *l = pam_stack_find(s, "session", WAYS_MODULE);

	*judgesp = l != NULL && l == pam_stack_find(s, "session", NULL) &&
	    !l->substack && strcmp(l->control, "requisite") == 0;
	return l;
}

bool
ways_line_opens(const char *keyword, const char *value, bool user_ca)
{
	const char *args;

	if (strcasecmp(keyword, "AuthorizedKeysFile") == 0 ||
	    strcasecmp(keyword, "TrustedUserCAKeys") == 0)
		return !sshd_words_none(value);
	if (strcasecmp(keyword, "AuthorizedKeysCommand") == 0)
		return !sshd_words_none(value) && !guard_command(value, &args);
	/* With "none", sshd itself accepts the account's name as principal. */
	if (strcasecmp(keyword, "AuthorizedPrincipalsCommand") == 0)
		return !guard_command(value, &args) && user_ca;
	if (strcasecmp(keyword, "AuthorizedPrincipalsFile") == 0)
		return !sshd_words_none(value) && user_ca;
	return strcasecmp(keyword, "HostbasedAuthentication") == 0 &&
	    !sshd_words_is(value, "no");
}

bool
ways_any_user_ca(const struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (strcasecmp(t->line[i].keyword, "TrustedUserCAKeys") == 0 &&
		    !sshd_words_none(t->line[i].value))
			return true;
	return false;
}

enum way
ways_of_keyword(const char *keyword)
{
	static const struct {
		const char *keyword;
		enum way way;
	} known[] = {
		{ "AuthorizedKeysFile", WAY_FILES },
		{ "AuthorizedKeysCommand", WAY_COMMAND },
		{ "AuthorizedPrincipalsCommand", WAY_USER_CA },
		{ "AuthorizedPrincipalsFile", WAY_USER_CA },
		{ "HostbasedAuthentication", WAY_HOSTBASED },
		{ "TrustedUserCAKeys", WAY_USER_CA },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcasecmp(keyword, known[i].keyword) == 0)
			return known[i].way;
	return WAYS;
}
