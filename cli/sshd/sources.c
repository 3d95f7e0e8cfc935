/* SPDX-License-Identifier: ISC */
/*
 * sshd/sources: whether sshd takes the keys of each account from the same
 * places after a change as now. Keyveto's own lines name these places in
 * another way, as files behind the guard. Who has taken some of its marks out
 * has made some of its lines his own, and without the others sshd could take
 * keys from more places, or from fewer.
 */
#include "sshd/reasons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/room.h"
#include "kv_wildcards.h"
#include "sshd_config/block.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

/* The values that say where keys come from, as sshd_block_keywords has them. */
enum { FILES, COMMAND, USER, PRINCIPALS, PRINCIPALS_USER, VALUES };
_Static_assert(VALUES == SSHD_BLOCK_KEYWORDS, "one for each keyword");

struct values {
	const char *v[VALUES];
};

/* One place that keys come from. */
struct source {
	int what;   /* FILES, COMMAND or PRINCIPALS */
	char *text; /* a pattern, or a command without the guard */
	char *user; /* whom sshd runs the command as */
	bool guarded;
	/* How a file is read. */
	enum kv_strictmodes strictmodes;
	bool wildcards;
};

/* A struct of zeroes is empty. */
struct sources {
	struct source *v;
	size_t n;
	bool failed; /* without memory */
};

struct comparison {
	const struct sshd_options *o;
	struct sshd_copy *now, *next;
	bool guarded;
	/* For whom no Match line matches. */
	struct sshd_settings *all_now, *all_next;
	enum kv_wildcards wildcards; /* of sshd itself */
	enum sshd_sources result;
};

static void
free_sources(struct sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].text);
		free(s->v[i].user);
	}
	free(s->v);
}

static void
add_source(struct sources *s, struct source new)
{
	s->failed |= !room_for_one(&s->v, s->n, sizeof(new));
	if (s->failed)
		return;
	new.text = strdup(new.text);
	new.user = strdup(new.user != NULL ? new.user : "");
	s->failed |= new.text == NULL || new.user == NULL;
	s->v[s->n++] = new;
}

/* The command that the guard with these arguments stands in front of. */
static const char *
find_chained(const char *args)
{
	char *copy = strdup(args), *rest = copy;
	const char *word, *found = NULL;

	while (copy != NULL && found == NULL &&
	    (word = sshd_words_next(&rest)) != NULL)
		if (strcmp(word, "--") == 0)
			found = args + (rest - copy);
	free(copy);
	return found;
}

/*
 * Adds the files that a guard prints. False if it cannot be told which these
 * are, or as whom it reads them: then it counts as any other command.
 */
static bool
add_guards_files(struct sources *s, const char *args, const char *user)
{
	struct source like = { .what = FILES, .guarded = true };
	enum kv_wildcards wildcards = KV_WILDCARDS_NO;
	struct guard_files f;
	bool known;

	known = guard_files_read(args, &f) && f.n > 0 &&
	    f.strictmodes != NULL &&
	    kv_config_read_strictmodes(f.strictmodes, &like.strictmodes) &&
	    strcmp(user, "root") == 0;
	if (known && f.wildcards != NULL)
		(void)kv_config_read_wildcards(f.wildcards, &wildcards);
	for (size_t i = 0; known && i < f.n; i++) {
		like.text = (char *)f.pattern[i];
		like.wildcards = kv_wildcards_apply(wildcards, like.text);
		add_source(s, like);
	}
	guard_files_free(&f);
	return known;
}

/* Adds a command, unless sshd runs none. */
static void
add_command(struct sources *s, int what, const char *command, const char *user)
{
	struct source new = {
		.what = what,
		.text = (char *)command,
		.user = (char *)user,
	};
	const char *args, *chained;

	/* sshd skips a command without a user. */
	if (sshd_words_none(command) || sshd_words_none(user))
		return;
	new.guarded = guard_command(command, &args);
	if (new.guarded && (chained = find_chained(args)) != NULL)
		new.text = (char *)chained;
	else if (new.guarded &&
	    what == COMMAND &&add_guards_files(s, args, user))
		return;
	add_source(s, new);
}

static void
add_values(const struct comparison *c, struct sources *s,
    const struct values *values)
{
	struct source file = {
		.what = FILES,
		.strictmodes = c->all_now->strictmodes ?
		    KV_STRICTMODES_DEFAULT :
		    KV_STRICTMODES_NO,
	};
	char *copy = strdup(values->v[FILES]), *rest = copy;

	s->failed |= copy == NULL;
	while (copy != NULL && (file.text = sshd_words_next(&rest)) != NULL) {
		file.wildcards = kv_wildcards_apply(c->wildcards, file.text);
		if (strcasecmp(file.text, "none") != 0)
			add_source(s, file);
	}
	free(copy);
	add_command(s, COMMAND, values->v[COMMAND], values->v[USER]);
	add_command(s, PRINCIPALS, values->v[PRINCIPALS],
	    values->v[PRINCIPALS_USER]);
}

/*
 * Whether b is the command a, which is a program alone, with the account's name:
 * sshd adds it there, but not behind the guard.
 */
static bool
is_named(const char *a, const char *b)
{
	const size_t n = strlen(a);

	return strcspn(a, " \t") == n && strncmp(a, b, n) == 0 &&
	    strcmp(b + n, " %u") == 0;
}

static bool
is_same_command(const char *a, const char *b)
{
	return strcmp(a, b) == 0 || is_named(a, b) || is_named(b, a);
}

/*
 * Whether whoever gets in by the other source gets in by this one, too. guarded:
 * also those keys that the guard refuses.
 */
static bool
covers(const struct source *one, const struct source *other, bool guarded)
{
	if (one->what != other->what ||
	    (guarded && one->guarded && !other->guarded))
		return false;
	if (one->what != FILES)
		return strcmp(one->user, other->user) == 0 &&
		    is_same_command(one->text, other->text);
	return strcmp(one->text, other->text) == 0 &&
	    one->strictmodes >= other->strictmodes &&
	    (one->wildcards || !other->wildcards);
}

/* The first of these sources that none of the others covers, or NULL. */
static const struct source *
find_uncovered(const struct sources *these, const struct sources *others,
    bool guarded)
{
	for (size_t i = 0; i < these->n; i++) {
		bool covered = false;

		for (size_t k = 0; !covered && k < others->n; k++)
			covered = covers(&others->v[k], &these->v[i], guarded);
		if (!covered)
			return &these->v[i];
	}
	return NULL;
}

/* Says of a source, unless it is NULL, what would become of it. */
static void
report(struct comparison *c, const char *who, const struct source *s,
    const char *what)
{
	static const char *const kind[VALUES] = {
		[FILES] = "the keys in",
		[COMMAND] = "the keys of AuthorizedKeysCommand",
		[PRINCIPALS] = "the principals of AuthorizedPrincipalsCommand",
	};

	if (s == NULL)
		return;
	c->result = SSHD_SOURCES_OTHER;
	cli_error("%s: %s %s would %s", who, kind[s->what], s->text, what);
}

static void
compare(struct comparison *c, const char *who, const struct values *now,
    const struct values *next)
{
	struct sources before = { 0 }, after = { 0 };
	const struct source *s;

	add_values(c, &before, now);
	add_values(c, &after, next);
	if (before.failed || after.failed) {
		cli_error("%s", strerror(ENOMEM));
		c->result = SSHD_SOURCES_OTHER;
	} else {
		s = find_uncovered(&after, &before, false);
		report(c, who, s, "count, which do not now");
		if (s == NULL && c->guarded)
			report(c, who, find_uncovered(&after, &before, true),
			    "count without the guard");
		report(c, who, find_uncovered(&before, &after, false),
		    "count no more");
	}
	free_sources(&before);
	free_sources(&after);
}

static struct values
values_of(const struct sshd_settings *s)
{
	return (struct values){ { s->keys_files, s->keys_command, s->keys_user,
	    s->principals_command, s->principals_user } };
}

/* The number of the next Match block after number match, or 0. */
static size_t
next_match(const struct sshd_tree *t, size_t match)
{
	while (match < t->n_lines)
		if (strcasecmp(t->line[match++].keyword, "Match") == 0)
			return match;
	return 0;
}

/*
 * Compares what a Match block that names any of these places gives to whom no
 * other block matches. a and b are its numbers in now and next. Where it loses a
 * line, another block may match as well, and give its own value.
 */
static void
compare_match(struct comparison *c, size_t a, size_t b)
{
	const struct sshd_tree *now = &c->now->tree, *next = &c->next->tree;
	const struct sshd_line *match = &now->line[a - 1];
	struct values before = values_of(c->all_now),
		      after = values_of(c->all_next), other;
	bool lost[VALUES] = { false }, any = false;
	char who[SSHD_WHY_BYTES];

	for (int k = 0; k < VALUES; k++) {
		const struct sshd_line *was = sshd_tree_find(now, a,
		    sshd_block_keywords[k]);
		const struct sshd_line *is = sshd_tree_find(next, b,
		    sshd_block_keywords[k]);

		if (was != NULL)
			before.v[k] = was->value;
		if (is != NULL)
			after.v[k] = is->value;
		lost[k] = was != NULL && is == NULL;
		any |= was != NULL;
	}
	if (!any)
		return;
	snprintf(who, sizeof(who), "%.1000s:%zu: Match %.500s",
	    now->file[match->file].path, match->number, match->value);
	compare(c, who, &before, &after);
	for (size_t i = 0; i < next->n_lines; i++)
		for (int k = 0; k < VALUES; k++) {
			const struct sshd_line *l = &next->line[i];

			if (!lost[k] || l->match == 0 || l->match == b ||
			    strcasecmp(l->keyword, sshd_block_keywords[k]) != 0)
				continue;
			other = after;
			other.v[k] = l->value;
			compare(c, who, &before, &other);
		}
}

/* Compares each Match block. Keyveto's lines are no Match lines. */
static void
compare_matches(struct comparison *c)
{
	const struct sshd_tree *now = &c->now->tree, *next = &c->next->tree;
	size_t a = 0, b = 0;

	while ((a = next_match(now, a)) != 0 && (b = next_match(next, b)) != 0)
		compare_match(c, a, b);
}

/*
 * Compares what sshd says of n accounts that Match lines cannot tell apart, of
 * which this is one. False without an answer.
 */
static bool
compare_account(struct comparison *c, const struct account *account, size_t n)
{
	struct sshd_settings *now, *next = NULL;
	struct values before, after;
	char who[512];

	if ((now = sshd_ask_settings(c->o, c->now, account->name)) != NULL)
		next = sshd_ask_settings(c->o, c->next, account->name);
	if (next != NULL) {
		snprintf(who, sizeof(who), n > 1 ? "%s, and %zu more" : "%s",
		    account->name, n - 1);
		before = values_of(now);
		after = values_of(next);
		compare(c, who, &before, &after);
	}
	sshd_settings_free(now);
	sshd_settings_free(next);
	return now != NULL && next != NULL;
}

/* Compares what sshd says of each account. False without an answer. */
static bool
compare_accounts(struct comparison *c)
{
	const struct sshd sshd = { .path = c->o->sshd, .config = c->next->top };
	struct accounts accounts = { 0 };
	struct sshd_overview overview;
	bool ok = sshd_find_accounts(&accounts);
	size_t *like, *of_kind;

	sshd_overview(&sshd, &overview);
	like = sshd_match_alike(&accounts, &overview.match);
	of_kind = calloc(accounts.n + 1, sizeof(*of_kind));
	sshd_overview_free(&overview);
	if (like == NULL || of_kind == NULL)
		ok = cli_error("%s", strerror(errno));
	for (size_t i = 0; ok && i < accounts.n; i++)
		of_kind[like[i]]++;
	for (size_t i = 0; ok && i < accounts.n; i++)
		ok = of_kind[i] == 0 ||
		    compare_account(c, &accounts.v[i], of_kind[i]);
	free(of_kind);
	free(like);
	accounts_free(&accounts);
	return ok;
}

enum sshd_sources
sshd_sources_compare(const struct sshd_options *o, struct sshd_copy *now,
    struct sshd_copy *next, bool guarded)
{
	struct comparison c = {
		.o = o,
		.now = now,
		.next = next,
		.guarded = guarded,
		.result = SSHD_SOURCES_SAME,
	};
	struct values all_now, all_next;
	bool answered;

	c.wildcards = sshd_version_at_least(o->sshd, 10, 0) ?
	    KV_WILDCARDS_YES :
	    KV_WILDCARDS_NO;
	c.all_now = sshd_ask_settings(o, now, NULL);
	if (c.all_now != NULL)
		c.all_next = sshd_ask_settings(o, next, NULL);
	answered = c.all_next != NULL;
	if (answered) {
		compare_matches(&c);
		answered = compare_accounts(&c);
		all_now = values_of(c.all_now);
		all_next = values_of(c.all_next);
		/* There may be accounts that no list has. */
		if (c.result == SSHD_SOURCES_SAME)
			compare(&c, "whom no Match line names", &all_now,
			    &all_next);
	}
	sshd_settings_free(c.all_now);
	sshd_settings_free(c.all_next);
	if (!answered && c.result == SSHD_SOURCES_SAME)
		return SSHD_SOURCES_UNKNOWN;
	return c.result;
}

/* How many lines of keyveto's keywords stand in Match blocks. */
static size_t
count_in_matches(const struct sshd_tree *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_lines; i++)
		for (int k = 0; t->line[i].match != 0 && k < VALUES; k++)
			n += strcasecmp(t->line[i].keyword,
				 sshd_block_keywords[k]) == 0;
	return n;
}

bool
sshd_sources_leaves_match(const struct sshd_tree *now,
    const struct sshd_tree *next)
{
	return count_in_matches(next) < count_in_matches(now);
}

void
sshd_sources_advise(const struct sshd_files *files, const char *before,
    const char *after)
{
	char *names = NULL;
	size_t len;
	FILE *out = open_memstream(&names, &len);

	for (size_t i = 0; out != NULL && i < files->n; i++)
		if (files->v[i]->blocks > 0 &&
		    files->v[i]->whose == SSHD_FILE_SSHDS)
			fprintf(out, " %s", files->v[i]->path);
	if (out != NULL && fclose(out) == 0)
		cli_error("nothing was changed. %s, delete keyveto's marks "
			  "(# BEGIN keyveto, # END keyveto), and no line, "
			  "in:%s; then run this again%s",
		    before, names, after);
	else
		cli_error("nothing was changed");
	free(names);
}
