/* SPDX-License-Identifier: ISC */
#include "config/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "host/root_file.h"
#include "kv_words.h"

#define MISTAKES_MAX 100
#define DAY_SECONDS 86400

/* Keywords of which only the first line counts. */
static const char *const single[] = {
	"AuthorizedKeysFile",
	"Message",
	"OnError",
	"OnHit",
	"OnUnsupported",
	"StrictModes",
	"SyslogFacility",
};

#define SINGLE (sizeof(single) / sizeof(single[0]))

__attribute__((format(printf, 2, 3))) static void
print_finding(const struct config_subject *s, const char *fmt, ...)
{
	char text[KV_REASON_BYTES + 512];
	va_list ap;

	if (s->silent)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cli_error("%s", text);
}

/*
 * Returns the start of line number, from 1, and its length; NULL if the text
 * has fewer lines.
 */
static char *
find_line(char *text, size_t len, unsigned long number, size_t *line_lenp)
{
	char *p = text, *end = text + len, *nl;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		if (--number == 0) {
			*line_lenp = (size_t)(nl - p);
			return p;
		}
	}
	return NULL;
}

/* Overwrites a line with blanks. False if it is blank, or not there. */
static bool
blank_line(char *text, size_t len, unsigned long number)
{
	size_t n = 0, blanks = 0;
	char *line = number > 0 ? find_line(text, len, number, &n) : NULL;

	if (line == NULL)
		return false;
	while (blanks < n && line[blanks] == ' ')
		blanks++;
	memset(line, ' ', n);
	return blanks < n;
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
		if (r != KV_ERR_CONFIG) {
			cli_error("%s", why);
			return false;
		}
		f->mistakes++;
		print_finding(s, "%s", why);
		line = strlen(why) > place ? strtoul(why + place, NULL, 10) : 0;
		if (f->mistakes == MISTAKES_MAX ||
		    !blank_line(text, s->len, line))
			return true;
		kv_config_free(&f->config);
	}
}

/* The first line of each keyword in single: its number and arguments. */
struct firsts {
	unsigned long line[SINGLE];
	char *value[SINGLE];
};

static char *
join_words(char *word[], int n)
{
	size_t len = 1;
	char *text, *p;

	for (int i = 1; i < n; i++)
		len += strlen(word[i]) + 1;
	if ((text = p = calloc(1, len + 1)) == NULL)
		return NULL;
	for (int i = 1; i < n; i++)
		p += sprintf(p, "%s%s", i > 1 ? " " : "", word[i]);
	return text;
}

/*
 * Prints a notice for a further line of a keyword in single, if it says
 * something else: it has no effect.
 */
static void
count_idle_keyword(struct config_findings *f, const struct config_subject *s,
    struct firsts *first, char *word[], int n, unsigned long number)
{
	char *value;

	for (size_t i = 0; i < SINGLE; i++) {
		if (strcasecmp(word[0], single[i]) != 0)
			continue;
		if ((value = join_words(word, n)) == NULL)
			return;
		if (first->line[i] == 0) {
			first->line[i] = number;
			first->value[i] = value;
			return;
		}
		if (strcasecmp(value, first->value[i]) != 0) {
			f->notices++;
			print_finding(s,
			    "%s:%lu: this %s has no effect: line %lu has one, "
			    "and only the first one counts",
			    s->name, number, single[i], first->line[i]);
		}
		free(value);
		return;
	}
}

bool
config_line_allows(const char *line, size_t len, struct kv_allowed_key *key)
{
	char why[KV_CONFIG_WHY_BYTES];
	struct kv_config c;
	bool allows;

	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (len == 0 || *line == '#')
		return false;
	allows = kv_config_parse(line, len, "", &c, why) == KV_OK &&
	    c.n_allowed == 1;
	if (allows) {
		*key = c.allowed[0];
		key->reason = "";
	}
	kv_config_free(&c);
	return allows;
}

static void
count_idle_line(struct config_findings *f, const struct config_subject *s,
    struct firsts *first, char *line, size_t len, unsigned long number)
{
	const int64_t today = (int64_t)time(NULL) / DAY_SECONDS;
	struct kv_allowed_key key;
	char *word[KV_WORDS_MAX];
	const char *why;
	int n;

	if (config_line_allows(line, len, &key) && key.until < today) {
		f->notices++;
		print_finding(s,
		    "%s:%lu: this AllowKey line is past its date, and has no "
		    "effect",
		    s->name, number);
	}
	line[len] = '\0';
	if ((n = kv_words_split(line, word, &why)) > 0)
		count_idle_keyword(f, s, first, word, n, number);
}

/*
 * Prints notices for lines without effect. text has no mistakes left, and is
 * split into words in place.
 */
static void
count_idle_lines(struct config_findings *f, const struct config_subject *s,
    char *text)
{
	struct firsts first = { 0 };
	char *p = text, *end = text + s->len;
	unsigned long number = 0;

	while (p < end) {
		char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((nl != NULL ? nl : end) - p);

		count_idle_line(f, s, &first, p, len, ++number);
		p += len + 1;
	}
	for (size_t i = 0; i < SINGLE; i++)
		free(first.value[i]);
}

/* What a reader must be able to read. */
struct reading {
	const char *path; /* the configuration's, or NULL */
	const struct kv_config *config;
};

static bool
can_read_all(void *arg, char *why, size_t cap)
{
	const struct reading *q = arg;
	char reason[KV_TRUSTED_WHY_BYTES];

	for (size_t i = 0; i <= q->config->n_filters; i++) {
		const char *path = i == 0 ? q->path : q->config->filter[i - 1];
		int fd;

		if (path == NULL)
			continue;
		if (kv_trusted_open(path, 0, &fd, reason) != KV_OK) {
			snprintf(why, cap, "%s", reason);
			return false;
		}
		close(fd);
	}
	return true;
}

/*
 * Counts the file if a login would not trust its owner or mode, or those of the
 * directories above it.
 */
static void
count_unsafe_place(struct config_findings *f, const struct config_subject *s)
{
	char why[KV_TRUSTED_WHY_BYTES];
	int fd;

	if (s->path == NULL)
		return;
	if (kv_trusted_open(s->path, 0, &fd, why) == KV_OK) {
		close(fd);
		return;
	}
	f->unreadable++;
	/* A login ignores all of such a file, and uses the defaults. */
	f->on_error = KV_ACTION_DENY;
	print_finding(s,
	    "%s: a login does not read this file; it must belong to "
	    "root, and only root may write to it and to the folders above",
	    why);
}

static void
count_unusable_filters(struct config_findings *f,
    const struct config_subject *s)
{
	struct reading q = {
		.path = s->draft ? NULL : s->path,
		.config = &f->config,
	};
	const size_t before = f->unreadable;
	char why[KV_REASON_BYTES];

	kv_judge_open_with(&f->judge, NULL, f->config.filter,
	    f->config.n_filters, cli_open_as_login, NULL);
	if (f->judge.broken[0] != '\0') {
		f->unreadable++;
		print_finding(s, "%s", f->judge.broken);
	}
	for (size_t i = 0; i < f->judge.n_filters; i++) {
		if (f->judge.filter[i].pkbf.fd != -1)
			continue;
		f->unreadable++;
		print_finding(s,
		    "%s: a login has no verdict without this filter",
		    f->judge.filter[i].why);
	}
	for (size_t i = 0;
	     f->unreadable == before && s->readers != NULL && i < s->readers->n;
	     i++) {
		const struct config_reader *r = &s->readers->v[i];

		if (root_ask("", r->uid, r->gid, can_read_all, &q, why,
			sizeof(why)))
			continue;
		f->unreadable++;
		print_finding(s,
		    "%s, read as %s, as whom sshd runs the guard: a login has "
		    "no verdict",
		    why,
		    strcmp(r->name, "%u") == 0 ? "an account without rights" :
						 r->name);
	}
}

static void
count_lenient_actions(struct config_findings *f, const struct config_subject *s)
{
	if (f->config.on_hit != KV_ACTION_DENY) {
		f->notices++;
		print_finding(s,
		    "%s: OnHit warn: a listed key is let in, and logged",
		    s->name);
	}
	if (f->config.on_error != KV_ACTION_DENY) {
		f->notices++;
		print_finding(s,
		    "%s: OnError allow: listed keys are let in while a "
		    "filter or this file cannot be read",
		    s->name);
	}
}

bool
config_findings_make(struct config_findings *f, const struct config_subject *s)
{
	char *text = malloc(s->len + 1);
	bool ok;

	*f = (struct config_findings){ 0 };
	kv_config_defaults(&f->config);
	if (text == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	memcpy(text, s->text, s->len);
	text[s->len] = '\0';
	ok = find_mistakes(f, s, text);
	if (ok) {
		count_unsafe_place(f, s);
		count_unusable_filters(f, s);
		count_idle_lines(f, s, text);
		count_lenient_actions(f, s);
	}
	free(text);
	return ok;
}

void
config_findings_free(struct config_findings *f)
{
	kv_judge_close(&f->judge);
	kv_config_free(&f->config);
}

bool
config_findings_no_verdict(const struct config_findings *f)
{
	return f->mistakes > 0 || f->unreadable > 0;
}

static const char *
action_text(enum kv_action action)
{
	switch (action) {
	case KV_ACTION_ALLOW:
		return "let in";
	case KV_ACTION_WARN:
		return "let in, and logged";
	case KV_ACTION_DENY:
		break;
	}
	return "refused";
}

static void
print_text(const char *label, const char *text)
{
	printf("  %-20s ", label);
	cli_print_safe(stdout, text, strlen(text));
}

static void
print_filters(const struct config_findings *f)
{
	for (size_t i = 0; i < f->judge.n_filters; i++) {
		const struct kv_filter *one = &f->judge.filter[i];

		print_text("filter", one->path);
		if (one->pkbf.fd == -1)
			puts(": cannot be used");
		else
			printf(": revision %" PRIu32 ", %" PRIu32 " %s\n",
			    one->pkbf.header.revision, one->pkbf.header.entries,
			    cli_plural(one->pkbf.header.entries, "entry",
				"entries"));
	}
}

static void
print_allowed(const struct config_findings *f)
{
	const int64_t today = (int64_t)time(NULL) / DAY_SECONDS;
	size_t past = 0, endless = 0;

	for (size_t i = 0; i < f->config.n_allowed; i++) {
		past += f->config.allowed[i].until < today;
		endless += f->config.allowed[i].until == KV_CONFIG_NO_DATE;
	}
	printf("  %-20s %zu line%s, %zu without an end, %zu expired\n",
	    "AllowKey", f->config.n_allowed,
	    cli_plural(f->config.n_allowed, "", "s"), endless, past);
}

void
config_findings_print(const struct config_findings *f, const char *name)
{
	const struct kv_config *c = &f->config;

	cli_print_safe(stdout, name, strlen(name));
	if (config_findings_no_verdict(f))
		printf(": no key gets a verdict, so each login by key is %s "
		       "(OnError %s)\n",
		    action_text(f->on_error), kv_action_name(f->on_error));
	else
		puts(": each key gets a verdict");
	if (f->mistakes == 0)
		printf("  %-20s %s (OnHit %s)\n", "a listed key",
		    action_text(c->on_hit), kv_action_name(c->on_hit));
	printf("  %-20s %s (OnError %s)\n", "without a verdict",
	    action_text(f->on_error), kv_action_name(f->on_error));
	printf("  %-20s %s (OnUnsupported %s)\n", "an unknown type",
	    action_text(c->on_unsupported), kv_action_name(c->on_unsupported));
	print_filters(f);
	for (size_t i = 0; i < c->n_patterns; i++) {
		print_text(i == 0 ? "AuthorizedKeysFile" : "", c->pattern[i]);
		putchar('\n');
	}
	if (c->n_patterns == 0)
		printf("  %-20s none\n", "AuthorizedKeysFile");
	print_allowed(f);
}
