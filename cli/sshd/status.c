/* SPDX-License-Identifier: ISC */
/* keyveto sshd status: which ways in are guarded, and by what. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "output/json_text.h"
#include "sshd/means.h"
#include "sshd/plan.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"
#include "ways/ways.h"

/* The accounts that have these ways in. */
struct cover {
	struct ways ways;
	char **account; /* names that belong to the accounts */
	size_t n;
};

struct status {
	const struct sshd_options *o;
	struct sshd_copy copy;
	struct accounts accounts;
	struct cover *v; /* each differs from the others */
	size_t n;
	struct sshd_means means;
	bool keys_by_origin; /* some clients may come by key, at least */
	bool pam;	     /* the module judges in every service */
	bool unguarded, unknown;
};

/* Whether PAM asks the module about such an account. */
static bool
pam_judges(struct status *s, const struct sshd_settings *settings)
{
	/* Only a newer sshd can be told another service. */
	return settings->use_pam &&
	    sshd_means_service(&s->means,
		*settings->service != '\0' ? settings->service : "sshd");
}

/* What sshd says of an account, as ways in; notes the guards. */
static void
read_cover(struct status *s, const struct sshd_settings *settings,
    struct cover *c)
{
	const struct ways_context context = {
		.pam = pam_judges(s, settings),
		.keys_elsewhere = s->keys_by_origin,
	};

	*c = (struct cover){ .n = 0 };
	ways_read(settings, &context, &c->ways);
	sshd_means_guard(&s->means, settings->keys_command,
	    settings->keys_user);
	if (c->ways.guard[WAY_USER_CA])
		sshd_means_guard(&s->means, settings->principals_command,
		    settings->principals_user);
}

/* The cover like c, which becomes one of s's; NULL without memory. */
static struct cover *
find_cover(struct status *s, const struct cover *c)
{
	struct cover *v;

	for (size_t i = 0; i < s->n; i++)
		if (memcmp(&s->v[i].ways, &c->ways, sizeof(c->ways)) == 0)
			return &s->v[i];
	if ((v = realloc(s->v, (s->n + 1) * sizeof(*v))) == NULL)
		return NULL;
	s->v = v;
	v[s->n] = *c;
	return &v[s->n++];
}

static bool
add_account(struct status *s, size_t cover, char *name)
{
	struct cover *c = &s->v[cover];
	char **v = realloc(c->account, (c->n + 1) * sizeof(*v));

	if (v == NULL)
		return false;
	c->account = v;
	v[c->n++] = name;
	return true;
}

/* The cover of an account as a number; false after a message. */
static bool
ask_about(struct status *s, const char *user, size_t *coverp)
{
	char *dump = sshd_ask_copy(s->o, &s->copy, user);
	struct sshd_settings *settings;
	struct cover c, *mine = NULL;

	if (dump == NULL)
		return false;
	if ((settings = sshd_settings_parse(dump)) != NULL) {
		read_cover(s, settings, &c);
		mine = find_cover(s, &c);
	}
	sshd_settings_free(settings);
	free(dump);
	if (mine == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	*coverp = (size_t)(mine - s->v);
	return true;
}

/* Accounts that no Match line tells apart are asked about once. */
static bool
ask_about_each(struct status *s, const struct sshd_match *match)
{
	const struct accounts *a = &s->accounts;
	size_t *like = sshd_match_alike(a, match);
	size_t *cover = calloc(a->n + 1, sizeof(*cover));
	bool ok = like != NULL && cover != NULL;

	if (!ok)
		cli_error("%s", strerror(errno));
	if (ok && a->n == 0) {
		s->unknown |= match->user.n + match->group.n > 0;
		ok = ask_about(s, NULL, &cover[0]);
	}
	for (size_t i = 0; ok && i < a->n; i++) {
		ok = like[i] != i || ask_about(s, a->v[i].name, &cover[i]);
		ok = ok && add_account(s, cover[like[i]], a->v[i].name);
	}
	free(cover);
	free(like);
	return ok;
}

static bool
is(const struct sshd_line *l, const char *keyword)
{
	return strcasecmp(l->keyword, keyword) == 0;
}

/*
 * What Match blocks may change for clients from elsewhere, and what sshd tells
 * only if it is asked from there.
 */
static void
look_for_origins(struct status *s)
{
	const struct sshd_tree *t = &s->copy.tree;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		char *value, *rest, *name;

		if (l->match != 0 && is(l, "PubkeyAuthentication") &&
		    sshd_tree_is_by_origin(t, l))
			s->keys_by_origin |= !sshd_words_is(l->value, "no");
		if (l->match == 0 || !is(l, "PAMServiceName"))
			continue;
		rest = value = strdup(l->value);
		name = value != NULL ? sshd_words_next(&rest) : NULL;
		s->pam &= name != NULL && sshd_means_service(&s->means, name);
		free(value);
	}
}

/* Whether that way is known to be open, and unguarded, for an account. */
static bool
is_told(const struct status *s, enum way w)
{
	for (size_t i = 0; i < s->n; i++)
		if (!ways_is_guarded(&s->v[i].ways, w))
			return true;
	return false;
}

/*
 * What holds for clients from elsewhere is not asked, since there is no end of
 * addresses: each setting that a block for them makes counts by itself. One for
 * accounts may be for some that no name service lists, and nobody asked about.
 */
static void
look_at_blocks(struct status *s)
{
	const struct sshd_tree *t = &s->copy.tree;
	const bool user_ca = ways_any_user_ca(t);

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		bool origin = sshd_tree_is_by_origin(t, l);

		if (s->pam || l->match == 0 ||
		    !ways_line_opens(l->keyword, l->value, user_ca) ||
		    (!origin && is_told(s, ways_of_keyword(l->keyword))))
			continue;
		cli_error("%s%s:%zu: %s: Match %s sets %s", s->o->root,
		    t->file[l->file].path, l->number,
		    origin ? "not guarded" :
			     "not guarded, for accounts that are not listed",
		    t->line[l->match - 1].value, l->keyword);
		if (origin)
			s->unguarded = true;
		else
			s->unknown = true;
	}
}

static const char *
yes_or_no(bool yes)
{
	return yes ? "yes" : "no";
}

static void
print_cover(const struct status *s, const struct cover *c)
{
	if (s->n > 1) {
		fputs("accounts:", stdout);
		for (size_t i = 0; i < c->n; i++) {
			putchar(' ');
			cli_print_safe(stdout, c->account[i],
			    strlen(c->account[i]));
		}
		putchar('\n');
	}
	printf("%-22s %-5s %-6s %-4s %s\n", "way in", "open", "guard", "PAM",
	    "guarded");
	for (enum way w = 0; w < WAYS; w++) {
		if (c->ways.open[w])
			printf("%-22s %-5s %-6s %-4s %s\n", ways_name(w), "yes",
			    yes_or_no(c->ways.guard[w]),
			    yes_or_no(c->ways.pam[w]),
			    ways_is_guarded(&c->ways, w) ? "yes" : "NO");
		else
			printf("%-22s no\n", ways_name(w));
	}
}

/* null: all accounts there are. */
static json_t *
accounts_to_json(const struct status *s, const struct cover *c)
{
	json_t *list;

	if (s->n == 1)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(list, json_text(c->account[i]));
	return list;
}

static void
print_json(const struct status *s, const struct cover *c)
{
	for (enum way w = 0; w < WAYS; w++) {
		json_t *one = json_pack("{s:o, s:s, s:b, s:b, s:b, s:b}",
		    "accounts", accounts_to_json(s, c), "way", ways_name(w),
		    "open", c->ways.open[w], "guard",
		    c->ways.open[w] && c->ways.guard[w], "pam",
		    c->ways.open[w] && c->ways.pam[w], "guarded",
		    ways_is_guarded(&c->ways, w));

		json_dumpf(one, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(one);
	}
}

static bool
look(struct status *s)
{
	struct sshd sshd = { .path = s->o->sshd };
	struct sshd_overview overview;
	struct sshd_settings *settings;
	char *dump;
	bool ok;

	if (!sshd_open_copy(s->o, &s->copy, NULL, 0) ||
	    !sshd_copy_is_faithful(s->o, &s->copy) ||
	    !sshd_find_accounts(s->o, &s->accounts) ||
	    (dump = sshd_ask_copy(s->o, &s->copy, NULL)) == NULL)
		return false;
	if ((settings = sshd_settings_parse(dump)) == NULL) {
		cli_error("%s", strerror(errno));
		free(dump);
		return false;
	}
	s->pam = pam_judges(s, settings);
	sshd_settings_free(settings);
	s->unknown |= !sshd_started_goes_by(s->o, dump);
	free(dump);
	look_for_origins(s);
	sshd.config = s->copy.top;
	sshd_overview(&sshd, &overview);
	s->unknown |= sshd_plan_tell_groups(s->o, &s->copy.tree) > 0;
	ok = ask_about_each(s, &overview.match);
	sshd_overview_free(&overview);
	if (!ok)
		return false;
	look_at_blocks(s);
	s->unguarded |= !sshd_means_refuse(&s->means, &s->accounts);
	s->unknown |= s->means.unknown;
	return true;
}

static int
print(struct status *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct cover *c = &s->v[i];

		if (s->o->json)
			print_json(s, c);
		else {
			if (i > 0)
				putchar('\n');
			print_cover(s, c);
		}
		for (enum way w = 0; w < WAYS; w++)
			s->unguarded |= !ways_is_guarded(&c->ways, w);
	}
	if (!cli_stdout_ok())
		return CLI_UNCHECKED;
	if (s->unguarded)
		return 1;
	return s->unknown ? CLI_UNCHECKED : 0;
}

static int
run(const struct cli_command *cmd, int argc, char **argv)
{
	struct sshd_options o;
	struct status s = { .o = &o, .means.o = &o };
	int status;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	status = look(&s) ? print(&s) : CLI_UNCHECKED;
	for (size_t i = 0; i < s.n; i++)
		free(s.v[i].account);
	free(s.v);
	sshd_means_free(&s.means);
	accounts_free(&s.accounts);
	sshd_copy_close(&s.copy);
	return status;
}

const struct cli_command sshd_status = {
	.name = "sshd status",
	.synopsis = "[--json] [--root DIR] [--sshd PATH]",
	.help = "Tell which ways in are guarded",
	.details =
	    "As root. Asks sshd about every account that Match blocks may tell "
	    "from the\nothers, and reads PAM's lines.\n\n"
	    "  --json           one JSON object a line, for each way in\n"
	    "  --root DIR       the machine whose file system is below DIR, "
	    "not this one\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "\nExit status: 0 every open way in is guarded, 1 one is not, 2 it "
	    "could not be\ntold.\n",
	.run = run,
};
