/* SPDX-License-Identifier: ISC */
/* keyveto sshd status: which ways in are guarded, and by what. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_text.h"
#include "base/room.h"
#include "sshd/matches.h"
#include "sshd/sshd.h"
#include "sshd/reasons.h"
#include "accounts/ask.h"
#include "sshd/usable.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"
#include "ways/pam_decision.h"
#include "ways/ways.h"

/* Accounts that have the same ways in, guarded by the same. */
struct group {
	struct ways ways;
	char **account; /* names that belong to status.accounts */
	size_t n;
};

/* A guard, a keyveto.conf or a PAM service. Each is looked at once. */
struct part {
	enum kind { GUARD, CONFIG, SERVICE } kind;
	char *name;  /* a path, or the name of a service */
	char *user;  /* who reads a keyveto.conf; "" for root */
	bool judges; /* the module judges every key in this service */
};

struct status {
	const struct sshd_options *o;
	struct sshd_copy copy;
	struct accounts accounts;
	struct group *v;
	size_t n;
	struct part *part;
	size_t n_parts;
	bool keys_by_origin;	 /* a Match block lets some clients use keys */
	struct texts commands;	 /* that were named as not judged */
	bool pam;		 /* the module judges in every service */
	bool unguarded, unknown; /* exit status 1 or 2 */
};

/*
 * Adds a part unless it is there; *atp is its index. False if it was there, or
 * without memory, which sets *atp to s->n_parts and s->unknown.
 */
static bool
add_part(struct status *s, enum kind kind, const char *name, const char *user,
    size_t *atp)
{
	struct part new = { .kind = kind };

	for (*atp = 0; *atp < s->n_parts; ++*atp)
		if (s->part[*atp].kind == kind &&
		    strcmp(s->part[*atp].name, name) == 0 &&
		    strcmp(s->part[*atp].user, user) == 0)
			return false;
	new.name = strdup(name);
	new.user = strdup(user);
	if (new.name == NULL || new.user == NULL ||
	    !room_for_one(&s->part, s->n_parts, sizeof(new))) {
		free(new.name);
		free(new.user);
		s->unknown = true;
		return false;
	}
	s->part[s->n_parts++] = new;
	return true;
}

/* Adds a guard and its keyveto.conf. sshd runs the guard as user. */
static void
add_guard(struct status *s, const char *command, const char *user)
{
	char path[PATH_MAX], config[PATH_MAX];
	const char *args;
	size_t at;

	if (!guard_command(command, &args))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)(args - command), command);
	(void)add_part(s, GUARD, path, "", &at);
	(void)guard_config(args, config, sizeof(config));
	(void)add_part(s, CONFIG, config, strcmp(user, "root") == 0 ? "" : user,
	    &at);
}

/*
 * Whether the module judges every key in a PAM service. Adds its keyveto.conf.
 * The first call for a service prints why not.
 */
static bool
service_judges(struct status *s, const char *service)
{
	char why[SSHD_WHY_BYTES], config[PATH_MAX];
	const struct pam_line *l;
	struct pam_stack stack;
	bool judges = false;
	size_t at, other;

	if (!add_part(s, SERVICE, service, "", &at))
		return at < s->n_parts && s->part[at].judges;
	if (!pam_stack_read(service, &stack, why, sizeof(why))) {
		cli_error("%s", why);
		s->unknown = true;
		pam_stack_free(&stack);
		return false;
	}
	l = ways_find_module(&stack, &judges);
	if (judges) {
		judges = sshd_usable_module(l->module);
		if (pam_decision_judge(&stack, WAYS_MODULE) !=
		    PAM_DECISION_SURE)
			cli_error("note: %s:%u: this line decides the stack: "
				  "no other session line is sure to decide it",
			    l->file, l->line);
		pam_stack_config(l, config, sizeof(config));
		(void)add_part(s, CONFIG, config, "", &other);
	} else if (l != NULL && strcmp(l->control, "requisite") != 0)
		cli_error("note: %s:%u: pam_keyveto.so is not requisite",
		    l->file, l->line);
	else if (l != NULL)
		cli_error("note: %s:%u: pam_keyveto.so is not the first "
			  "session line; what comes before it may hide the key "
			  "from it",
		    l->file, l->line);
	s->part[at].judges = judges;
	pam_stack_free(&stack);
	return judges;
}

/*
 * Checks all guards and keyveto.confs, with messages. A keyveto.conf that
 * cannot be read does not count as one that lets listed keys in.
 */
static void
check_parts(struct status *s)
{
	struct judging judging;
	const struct kv_config *config = &judging.judge.config;
	char why[WALL_WHY_BYTES];

	for (size_t i = 0; i < s->n_parts; i++) {
		const struct part *p = &s->part[i];

		if (p->kind == GUARD)
			s->unknown |= !sshd_usable_guard(p->name);
		if (p->kind != CONFIG)
			continue;
		if (!sshd_usable_filters(p->name, p->user, &s->accounts,
			false) ||
		    !sshd_usable_open(p->name, NULL, &judging)) {
			s->unknown = true;
			continue;
		}
		if (config->on_hit != KV_ACTION_DENY) {
			cli_error("%s: OnHit warn: listed keys are let in, "
				  "and logged",
			    p->name);
			s->unguarded = true;
		} else if (config->on_probable != KV_ACTION_DENY &&
		    judging.judge.n_filters > 0) {
			cli_error("%s: OnProbable warn: keys that only "
				  "filters list are let in, and logged",
			    p->name);
			s->unguarded = true;
		}
		(void)judging_close(&judging, why);
	}
}

/* Whether the module judges every key with these settings. */
static bool
module_judges(struct status *s, const struct sshd_settings *settings)
{
	return settings->use_pam && service_judges(s, sshd_service(settings));
}

/*
 * Names, once, a command of which nobody can know before a change whether it
 * refuses keys that the command prints. Without memory, more than once.
 */
static void
note_command(struct status *s, const struct sshd_settings *settings)
{
	char text[SSHD_VALUE_BYTES], why[ASK_WHY_BYTES];
	const struct ask_command c = { text, (char *)settings->keys_user };

	if (!ask_find(settings->keys_command, text, sizeof(text)) ||
	    ask_is_possible(&c, why))
		return;
	if (texts_has(&s->commands, text))
		return;
	(void)texts_add(&s->commands, text);
	cli_error("note: AuthorizedKeysCommand %s: the keys it prints are not "
		  "judged before a change: %s",
	    text, why);
}

/*
 * Asks sshd about an account, and finds or adds the group with its ways in.
 * *groupp is its index. Adds the guards. False after a message.
 */
static bool
find_group_of(struct status *s, const char *user, size_t *groupp)
{
	struct sshd_settings *settings = sshd_ask_settings(s->o, &s->copy,
	    user);
	struct ways_context context = { .keys_elsewhere = s->keys_by_origin };
	struct ways w;

	if (settings == NULL)
		return false;
	context.pam = module_judges(s, settings);
	ways_read(settings, &context, &w);
	add_guard(s, settings->keys_command, settings->keys_user);
	note_command(s, settings);
	if (w.guard[WAY_USER_CA])
		add_guard(s, settings->principals_command,
		    settings->principals_user);
	sshd_settings_free(settings);
	for (*groupp = 0; *groupp < s->n; ++*groupp)
		if (memcmp(&s->v[*groupp].ways, &w, sizeof(w)) == 0)
			return true;
	if (!room_for_one(&s->v, s->n, sizeof(*s->v)))
		return cli_error("%s", strerror(errno));
	s->v[s->n++] = (struct group){ .ways = w };
	return true;
}

/*
 * Puts each account into its group. Asks sshd once for all accounts that no
 * Match line tells apart.
 */
static bool
group_accounts(struct status *s, const struct sshd_match *match)
{
	const struct accounts *a = &s->accounts;
	size_t *like = sshd_match_alike(a, match);
	size_t *group = calloc(a->n + 1, sizeof(*group));
	bool ok = like != NULL && group != NULL;
	struct group *g;

	if (!ok)
		cli_error("%s", strerror(errno));
	if (ok && a->n == 0) {
		s->unknown |= match->user.n + match->group.n > 0;
		ok = find_group_of(s, NULL, &group[0]);
	}
	for (size_t i = 0; ok && i < a->n; i++) {
		ok = like[i] != i || find_group_of(s, a->v[i].name, &group[i]);
		if (!ok)
			break;
		g = &s->v[group[like[i]]];
		ok = room_for_one(&g->account, g->n, sizeof(char *)) ||
		    cli_error("%s", strerror(errno));
		if (ok)
			g->account[g->n++] = a->v[i].name;
	}
	free(group);
	free(like);
	return ok;
}

/*
 * Reads from the Match blocks what sshd would tell only if it were asked about
 * other clients: whether they may use keys, and PAM services.
 */
static void
read_match_settings(struct status *s)
{
	const struct sshd_tree *t = &s->copy.tree;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		char *value, *rest, *name;

		if (l->match != 0 &&
		    strcasecmp(l->keyword, "PubkeyAuthentication") == 0 &&
		    sshd_tree_is_by_origin(t, l))
			s->keys_by_origin |= !sshd_words_is(l->value, "no");
		if (l->match == 0 ||
		    strcasecmp(l->keyword, "PAMServiceName") != 0)
			continue;
		rest = value = strdup(l->value);
		name = value != NULL ? sshd_words_next(&rest) : NULL;
		s->pam &= name != NULL && service_judges(s, name);
		free(value);
	}
}

/* Whether print_group says that the way is unguarded for some account. */
static bool
is_unguarded(const struct status *s, enum way w)
{
	for (size_t i = 0; i < s->n; i++)
		if (!ways_is_guarded(&s->v[i].ways, w))
			return true;
	return false;
}

/*
 * Prints the lines of Match blocks that open an unguarded way in. sshd cannot
 * be asked about every client address, so that each line of a block for clients
 * counts. A block for accounts may match an account that no name service lists;
 * sshd was not asked about that one.
 */
static void
print_match_lines(struct status *s)
{
	const struct sshd_tree *t = &s->copy.tree;
	const bool user_ca = ways_any_user_ca(t);

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		bool origin = sshd_tree_is_by_origin(t, l);

		if (s->pam || l->match == 0 ||
		    !ways_line_opens(l->keyword, l->value, user_ca) ||
		    (!origin && is_unguarded(s, ways_of_keyword(l->keyword))))
			continue;
		cli_error("%s:%zu: not guarded%s: Match %s sets %s",
		    t->file[l->file].path, l->number,
		    origin ? "" : ", for accounts that no name service lists",
		    t->line[l->match - 1].value, l->keyword);
		if (origin)
			s->unguarded = true;
		else
			s->unknown = true;
	}
}

static void
print_group(const struct status *s, const struct group *c)
{
	const char *pam = c->ways.pam ? "yes" : "no";

	if (s->n > 1) {
		fputs("accounts:", stdout);
		for (size_t i = 0; i < c->n; i++)
			cli_printf(stdout, " %s", c->account[i]);
		putchar('\n');
	}
	printf("%-22s %-5s %-6s %-4s %s\n", "way in", "open", "guard", "PAM",
	    "guarded");
	for (enum way w = 0; w < WAYS; w++) {
		if (c->ways.open[w])
			printf("%-22s %-5s %-6s %-4s %s\n", ways_name(w), "yes",
			    c->ways.guard[w] ? "yes" : "no", pam,
			    ways_is_guarded(&c->ways, w) ? "yes" : "NO");
		else
			printf("%-22s no\n", ways_name(w));
	}
}

/* The names of a group; null if it has all accounts. */
static json_t *
accounts_to_json(const struct status *s, const struct group *c)
{
	json_t *list = s->n == 1 ? json_null() : json_array();

	for (size_t i = 0; s->n != 1 && i < c->n; i++)
		json_array_append_new(list, json_text(c->account[i]));
	return list;
}

static void
print_json(const struct status *s, const struct group *c)
{
	for (enum way w = 0; w < WAYS; w++) {
		json_t *one = json_pack("{s:o, s:s, s:b, s:b, s:b, s:b}",
		    "accounts", accounts_to_json(s, c), "way", ways_name(w),
		    "open", c->ways.open[w], "guard",
		    c->ways.open[w] && c->ways.guard[w], "pam",
		    c->ways.open[w] && c->ways.pam, "guarded",
		    ways_is_guarded(&c->ways, w));

		json_dumpf(one, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(one);
	}
}

/* Asks sshd, reads PAM's lines, and checks the parts. False after a message. */
static bool
read_status(struct status *s)
{
	struct sshd sshd = { .path = s->o->sshd };
	struct sshd_overview overview;
	struct sshd_settings *settings;
	char *dump;
	bool ok;

	if (!sshd_open_copy(&s->copy, NULL, false) ||
	    !sshd_faithful_copy(s->o, &s->copy) ||
	    !sshd_find_accounts(&s->accounts) ||
	    (dump = sshd_ask_copy(s->o, &s->copy, NULL)) == NULL)
		return false;
	if ((settings = sshd_settings_parse(dump)) == NULL) {
		cli_error("%s", strerror(errno));
		free(dump);
		return false;
	}
	s->pam = module_judges(s, settings);
	s->unknown |= !sshd_started_goes_by(dump, settings);
	sshd_settings_free(settings);
	free(dump);
	read_match_settings(s);
	sshd.config = s->copy.top;
	sshd_overview(&sshd, &overview);
	ok = group_accounts(s, &overview.match);
	sshd_overview_free(&overview);
	if (!ok)
		return false;
	print_match_lines(s);
	check_parts(s);
	return true;
}

static int
print_status(struct status *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct group *c = &s->v[i];

		if (s->o->json)
			print_json(s, c);
		else {
			if (i > 0)
				putchar('\n');
			print_group(s, c);
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
run_status(const struct cli_command *cmd, int argc, char **argv)
{
	struct sshd_options o;
	struct status s = { .o = &o };
	int status;

	if ((status = sshd_read_options(cmd, argc, argv, &o)) != -1)
		return status;
	status = read_status(&s) ? print_status(&s) : CLI_UNCHECKED;
	for (size_t i = 0; i < s.n; i++)
		free(s.v[i].account);
	free(s.v);
	for (size_t i = 0; i < s.n_parts; i++) {
		free(s.part[i].name);
		free(s.part[i].user);
	}
	free(s.part);
	texts_free(&s.commands);
	accounts_free(&s.accounts);
	sshd_copy_close(&s.copy);
	return status;
}

const struct cli_command sshd_status = {
	.name = "sshd status",
	.section = 8,
	.page = "enable",
	.synopsis = "[--json] [--sshd PATH]",
	.help = "Tell which ways in are guarded",
	.details =
	    "  --json           one JSON object a line, for each way in\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n",
	.run = run_status,
};
