/* SPDX-License-Identifier: ISC */
#include "config/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "host/accounts.h"
#include "host/child.h"
#include "kv_words.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/overview.h"
#include "sshd_config/words.h"

#define MISTAKES_MAX 100
#define DAY_SECONDS 86400
#define NOBODY 65534U

/* Keywords of which only the first line counts. */
static const char *const single[] = {
	"AuthorizedKeysFile",
	"Message",
	"OnError",
	"OnHit",
	"OnProbable",
	"OnUnsupported",
	"StrictModes",
	"SyslogFacility",
};

#define SINGLE (sizeof(single) / sizeof(single[0]))

/* Counts a finding, and tells s->found of it. */
__attribute__((format(printf, 4, 5))) static void
find(struct config_findings *f, const struct config_subject *s,
    enum config_finding kind, const char *fmt, ...)
{
	char text[KV_REASON_BYTES + 512];
	va_list ap;

	f->mistakes += kind == CONFIG_MISTAKE;
	f->unreadable += kind == CONFIG_UNREADABLE;
	if (s->found == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->found(s->arg, kind, text);
}

void
config_findings_tell(void *arg, enum config_finding kind, const char *text)
{
	(void)arg;
	(void)kind;
	cli_error("%s", text);
}

/*
 * Overwrites line number, from 1, with blanks. False if it is blank, or not
 * there.
 */
static bool
blank_line(char *text, size_t len, unsigned long number)
{
	char *line = text, *end = text + len, *nl;
	bool changed = false;

	for (unsigned long i = 1; i < number && line < end; i++) {
		nl = memchr(line, '\n', (size_t)(end - line));
		line = nl != NULL ? nl + 1 : end;
	}
	for (; number > 0 && line < end && *line != '\n'; line++) {
		changed |= *line != ' ';
		*line = ' ';
	}
	return changed;
}

/*
 * Counts and prints all mistakes. The parser stops at the first, so each wrong
 * line is overwritten with blanks, and the rest is parsed again. A login uses
 * no line that is wrong, either. False after a message if out of memory.
 */
static bool
find_mistakes(struct config_findings *f, const struct config_subject *s,
    char *text)
{
	char why[KV_CONFIG_WHY_BYTES];
	const size_t place = strlen(s->name) + 1;
	unsigned long line;
	enum kv_err r;

	for (;;) {
		r = kv_config_parse(text, s->len, s->name, &f->config, why);
		if (f->mistakes == 0)
			f->on_error = f->config.on_error;
		if (r == KV_OK)
			return true;
		if (r != KV_ERR_CONFIG)
			return cli_error("%s", why);
		find(f, s, CONFIG_MISTAKE, "%s", why);
		line = strlen(why) > place ? strtoul(why + place, NULL, 10) : 0;
		if (f->mistakes == MISTAKES_MAX ||
		    !blank_line(text, s->len, line))
			return true;
		kv_config_free(&f->config);
	}
}

/* The first line of each keyword in single: its number, 0 without one. */
struct firsts {
	unsigned long line[SINGLE];
	const char *value[SINGLE]; /* its arguments, with a blank between */
};

/*
 * Prints a notice for a further line of a keyword in single, if it says
 * something else: it has no effect. Joins the arguments in place.
 */
static void
count_idle_keyword(struct config_findings *f, const struct config_subject *s,
    struct firsts *first, char *word[], int n, unsigned long number)
{
	char *end;
	size_t i = 0;

	while (i < SINGLE && strcasecmp(word[0], single[i]) != 0)
		i++;
	if (i == SINGLE || n < 2)
		return;
	end = word[1] + strlen(word[1]);
	for (int k = 2; k < n; k++) {
		const size_t len = strlen(word[k]);

		*end++ = ' ';
		memmove(end, word[k], len + 1);
		end += len;
	}
	if (first->line[i] == 0) {
		first->line[i] = number;
		first->value[i] = word[1];
	} else if (strcasecmp(word[1], first->value[i]) != 0)
		find(f, s, CONFIG_IDLE,
		    "%s:%lu: this %s has no effect: line %lu has one, and only "
		    "the first one counts",
		    s->name, number, single[i], first->line[i]);
}

bool
config_line_names(const char *line, size_t len, bool denies,
    struct kv_key_line *key)
{
	char why[KV_CONFIG_WHY_BYTES];
	const struct kv_key_lines *lines;
	struct kv_config c = { .text = NULL };
	bool names;

	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (len == 0 || *line == '#')
		return false;
	lines = denies ? &c.denied : &c.allowed;
	names = kv_config_parse(line, len, "", &c, why) == KV_OK &&
	    lines->n == 1;
	if (names) {
		*key = lines->v[0];
		key->reason = "";
	}
	kv_config_free(&c);
	return names;
}

/* Prints a notice for an AllowKey line without effect. */
static void
count_idle_allowed(struct config_findings *f, const struct config_subject *s,
    const char *line, size_t len, unsigned long number)
{
	const int64_t now = (int64_t)time(NULL), today = now / DAY_SECONDS;
	struct kv_key_line key;

	if (!config_line_names(line, len, false, &key))
		return;
	if (key.day < today)
		find(f, s, CONFIG_POLICY,
		    "%s:%lu: this AllowKey line is past its date, and has no "
		    "effect",
		    s->name, number);
	else if (kv_config_find_denied(&f->config, key.digest, now) != NULL)
		find(f, s, CONFIG_IDLE,
		    "%s:%lu: this AllowKey line has no effect: a DenyKey line "
		    "names the same key, and DenyKey wins",
		    s->name, number);
}

/*
 * Prints notices for lines without effect. text has no mistakes left, and is
 * split into words in place.
 */
static void
count_idle_lines(struct config_findings *f, const struct config_subject *s,
    char *text)
{
	char *line = text, *end = text + s->len, *word[KV_WORDS_MAX];
	struct firsts first = { 0 };
	unsigned long number = 0;
	const char *why;

	while (line < end) {
		char *nl = memchr(line, '\n', (size_t)(end - line));
		const size_t len = (size_t)((nl != NULL ? nl : end) - line);
		int n;

		number++;
		count_idle_allowed(f, s, line, len, number);
		line[len] = '\0';
		if ((n = kv_words_split(line, word, &why)) > 0)
			count_idle_keyword(f, s, &first, word, n, number);
		line += len + 1;
	}
}

static bool
can_be_opened(const char *path, char why[static KV_TRUSTED_WHY_BYTES])
{
	int fd;

	if (kv_trusted_open(path, 0, &fd, why) != KV_OK)
		return false;
	close(fd);
	return true;
}

/* What a reader must be able to read. */
struct reading {
	const char *path; /* the configuration's, or NULL */
	const struct kv_config *config;
};

bool
config_can_open_all(const struct kv_config *config,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	bool can = true;

	*why = '\0';
	for (size_t i = 0; can && i < config->n_filters; i++)
		can = can_be_opened(config->filter[i], why);
	for (size_t i = 0; can && i < config->n_blocklists; i++)
		can = can_be_opened(config->blocklist[i], why);
	return can;
}

static bool
can_read_all(void *arg, char *why, size_t cap)
{
	const struct reading *q = arg;
	char reason[KV_TRUSTED_WHY_BYTES] = "";
	const bool can = (q->path == NULL || can_be_opened(q->path, reason)) &&
	    config_can_open_all(q->config, reason);

	snprintf(why, cap, "%s", reason);
	return can;
}

static void
count_unusable_filters(struct config_findings *f,
    const struct config_subject *s)
{
	struct reading q = {
		.path = s->path,
		.config = &f->config,
	};
	const struct kv_paths paths = {
		.filter = f->config.filter,
		.n_filters = f->config.n_filters,
		.blocklist = f->config.blocklist,
		.n_blocklists = f->config.n_blocklists,
	};
	const size_t before = f->unreadable;
	char why[KV_REASON_BYTES], broken[WALL_WHY_BYTES];

	judging_open(&f->judging, NULL, &paths, cli_open_as_login, NULL);
	/* That says nothing about a login. */
	if (!judging_start(&f->judging, broken))
		find(f, s, CONFIG_UNSEEN,
		    "%s: its filters and lists were not looked into: %s",
		    s->name, broken);
	if (f->judging.judge.broken[0] != '\0')
		find(f, s, CONFIG_UNREADABLE, "%s", f->judging.judge.broken);
	for (size_t i = 0; i < f->judging.judge.n_filters; i++)
		if (f->judging.judge.filter[i].pkbf.fd == -1)
			find(f, s, CONFIG_UNREADABLE,
			    "%s: a login has no verdict without this filter",
			    f->judging.judge.filter[i].why);
	for (size_t i = 0; i < f->judging.judge.n_lists; i++)
		if (f->judging.judge.list[i].blocklist.fd == -1)
			find(f, s, CONFIG_UNREADABLE,
			    "%s: a login has no verdict without this list",
			    f->judging.judge.list[i].why);
	if (config_findings_no_verdict(f))
		f->blind = UINT32_MAX;
	if (f->unreadable != before || s->readers == NULL)
		return;
	for (size_t i = 0; i < s->readers->n; i++) {
		const struct config_reader *r = &s->readers->v[i];

		if (child_ask_as(r->uid, r->gid, can_read_all, &q, why,
			sizeof(why)))
			continue;
		f->blind |= UINT32_C(1) << i;
		find(f, s, CONFIG_UNREADABLE,
		    "%s, read as %s, as whom sshd runs the guard: a login has "
		    "no verdict",
		    why,
		    strcmp(r->name, "%u") == 0 ? "an account without rights" :
						 r->name);
	}
}

bool
config_findings_make(struct config_findings *f, const struct config_subject *s)
{
	char *text = malloc(s->len + 1), why[KV_TRUSTED_WHY_BYTES];
	bool ok;

	*f = (struct config_findings){ 0 };
	kv_config_defaults(&f->config);
	if (text == NULL)
		return cli_error("%s", strerror(errno));
	memcpy(text, s->text, s->len);
	text[s->len] = '\0';
	ok = find_mistakes(f, s, text);
	if (ok) {
		if (s->path != NULL && !can_be_opened(s->path, why)) {
			/* A login ignores such a file, and uses the defaults. */
			f->on_error = KV_ACTION_DENY;
			find(f, s, CONFIG_UNREADABLE,
			    "%s: a login does not read this file; it must "
			    "belong to root, and only root may write to it and "
			    "to the folders above",
			    why);
		}
		if (!s->text_alone)
			count_unusable_filters(f, s);
		count_idle_lines(f, s, text);
		/* Nobody who adds a list means to take the filter away. */
		if (f->config.n_filters == 0 &&
		    access(KV_CONFIG_FILTER_PATH, F_OK) == 0)
			find(f, s, CONFIG_POLICY,
			    "%s: no login consults " KV_CONFIG_FILTER_PATH
			    ": with a Blocklist line it needs a line of its "
			    "own, Filter " KV_CONFIG_FILTER_PATH,
			    s->name);
		if (f->config.on_hit != KV_ACTION_DENY)
			find(f, s, CONFIG_POLICY,
			    "%s: OnHit warn: a listed key is let in, and "
			    "logged",
			    s->name);
		else if (f->config.on_probable != KV_ACTION_DENY)
			find(f, s, CONFIG_POLICY,
			    "%s: OnProbable warn: a key that only filters list "
			    "is let in, and logged",
			    s->name);
		if (f->config.on_error != KV_ACTION_DENY)
			find(f, s, CONFIG_POLICY,
			    "%s: OnError allow: listed keys are let in while "
			    "a filter or this file cannot be read",
			    s->name);
	}
	free(text);
	return ok;
}

void
config_findings_free(struct config_findings *f)
{
	char why[WALL_WHY_BYTES];

	(void)judging_close(&f->judging, why);
	kv_config_free(&f->config);
}

bool
config_findings_no_verdict(const struct config_findings *f)
{
	return f->mistakes > 0 || f->unreadable > 0;
}

/* --- who reads the file ------------------------------------------------- */

void
config_readers_add(struct config_readers *r, const char *user)
{
	struct config_reader one = { .uid = NOBODY, .gid = NOBODY };
	struct accounts a = { 0 };

	snprintf(one.name, sizeof(one.name), "%s", user);
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].name, one.name) == 0)
			return;
	if (r->n == CONFIG_READERS_MAX)
		return;
	if (strcmp(user, "%u") != 0) {
		/* sshd runs no command as a user that does not exist. */
		if (!accounts_add(&a, user))
			return;
		one.uid = a.v[0].uid;
		one.gid = a.v[0].gid;
		accounts_free(&a);
	}
	if (one.uid != 0)
		r->v[r->n++] = one;
}

/* Whether command is the guard, and reads the configuration at path. */
static bool
reads_path(const char *command, const char *path)
{
	char config[PATH_MAX];
	const char *args;

	if (!guard_command(command, &args))
		return false;
	(void)guard_config(args, config, sizeof(config));
	return strcmp(config, path) == 0;
}

/* Whether command is the guard, and prints accounts' files as path says. */
static bool
reads_files(const char *command, const char *path)
{
	const char *args;

	return reads_path(command, path) && guard_command(command, &args) &&
	    !guard_chained(args);
}

/*
 * Adds user, as whom sshd runs command, if that reads path. Returns whether it
 * does.
 */
static bool
add_commands_user(struct config_readers *r, const char *command,
    const char *user, const char *path)
{
	if (!reads_path(command, path))
		return false;
	if (!sshd_words_none(user))
		config_readers_add(r, user);
	return true;
}

static bool
is_one_of(const struct sshd_line *line, const char *a, const char *b)
{
	return line->match != 0 &&
	    (strcasecmp(line->keyword, a) == 0 ||
		strcasecmp(line->keyword, b) == 0);
}

void
config_readers_find(struct config_readers *r, const char *path)
{
	const struct sshd sshd = { .path = SSHD_PATH };
	struct sshd_overview overview;
	const struct sshd_tree *t = &overview.tree;
	struct sshd_settings *settings;
	struct sshd_question q;
	char why[1024];
	bool guard;

	*r = (struct config_readers){ 0 };
	if (access(SSHD_PATH, X_OK) == -1)
		return;
	r->files = true;
	if (geteuid() != 0) {
		cli_error(
		    "note: only root can ask sshd which user runs the guard: "
		    "not checked");
		return;
	}
	sshd_ask(&sshd, "root", &q);
	if ((settings = sshd_answer(&q, why, sizeof(why))) == NULL) {
		cli_error(
		    "note: sshd does not say which user runs the guard: %s",
		    why);
		return;
	}
	r->files = reads_files(settings->keys_command, path);
	guard = add_commands_user(r, settings->keys_command,
	    settings->keys_user, path);
	guard |= add_commands_user(r, settings->principals_command,
	    settings->principals_user, path);
	sshd_settings_free(settings);
	/*
	 * Add the users that Match blocks name, if the guard is in a Match
	 * block or in the global part: the user may stand in another block than
	 * the command.
	 */
	sshd_overview(&sshd, &overview);
	for (size_t i = 0; i < t->n_lines; i++) {
		guard |= is_one_of(&t->line[i], "AuthorizedKeysCommand",
			     "AuthorizedPrincipalsCommand") &&
		    reads_path(t->line[i].value, path);
		/* Root may have another command than everybody else. */
		r->files |= strcasecmp(t->line[i].keyword,
				"AuthorizedKeysCommand") == 0 &&
		    reads_files(t->line[i].value, path);
	}
	for (size_t i = 0; guard && i < t->n_lines; i++)
		if (is_one_of(&t->line[i], "AuthorizedKeysCommandUser",
			"AuthorizedPrincipalsCommandUser") &&
		    !sshd_words_none(t->line[i].value))
			config_readers_add(r, t->line[i].value);
	sshd_overview_free(&overview);
}
