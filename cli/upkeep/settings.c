/* SPDX-License-Identifier: ISC */
#include "upkeep/settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "kv_trusted.h"
#include "kv_words.h"

#define GIB ((uint64_t)1 << 30)
#define TIMEOUT_MAX (7 * 86400)
#define AGE_MAX 36500

/* What the argument of a keyword is. */
enum kind {
	TEXT,
	PATH,
	PROXY,
	SECONDS,
	DAYS,
	SIZE,
	RATE,
	FORMAT,
	SWITCH,
	HOLD
};

static bool
read_size(const char *text, uint64_t *bytesp)
{
	static const char units[] = "KMGT";
	const char *unit;
	unsigned int shift = 0;
	unsigned long long n;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno != 0 || n == 0)
		return false;
	if (*end != '\0') {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit == NULL || end[1] != '\0')
			return false;
		shift = 10 * (unsigned int)(unit - units + 1);
	}
	if (n > (uint64_t)INT64_MAX >> shift)
		return false;
	*bytesp = n << shift;
	return true;
}

/* Sets *value to the index of text among the words; false for another word. */
static bool
read_word(const char *text, const char *const *word, size_t n,
    unsigned int *value)
{
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(text, word[i]) == 0) {
			*value = (unsigned int)i;
			return true;
		}
	}
	return false;
}

/* The arguments of HoldIfRefused, without empty ones. */
static bool
read_hold(char *const *word, int n, struct change_hold *hold)
{
	*hold = (struct change_hold){ .never = false };
	if (strcasecmp(word[0], "never") == 0) {
		hold->never = true;
		return n == 1;
	}
	if (n - 1 > CHANGE_HOLD_GROUPS_MAX ||
	    !cli_read_number(word[0], 0, UINT32_MAX, &hold->accounts))
		return false;
	for (int i = 1; i < n; i++)
		hold->group[hold->n_groups++] = word[i];
	return true;
}

/* Sets the value, whose type follows from kind. */
static bool
read_value(enum kind kind, const char *text, void *value)
{
	static const char *const formats[] = { "pkbf", "badkeys" };
	static const char *const switches[] = { "no", "yes" };
	unsigned int index;
	double rate;
	char *end;

	switch (kind) {
	case TEXT:
	case PATH:
		*(const char **)value = text;
		return kind == TEXT || text[0] == '/';
	case PROXY:
		*(const char **)value = strcasecmp(text, "none") == 0 ?
		    "" :
		    text;
		return true;
	case SECONDS:
		return cli_read_number(text, 1, TIMEOUT_MAX, value);
	case DAYS:
		return cli_read_number(text, 1, AGE_MAX, value);
	case SIZE:
		return read_size(text, value);
	case FORMAT:
		if (!read_word(text, formats, 2, &index))
			return false;
		*(enum update_format *)value = (enum update_format)index;
		return true;
	case SWITCH:
		if (!read_word(text, switches, 2, &index))
			return false;
		*(bool *)value = index == 1;
		return true;
	case HOLD: /* read_hold reads it */
		return false;
	case RATE:
		break;
	}
	/* strtod also takes "nan", "inf" and hexadecimal. */
	if (text[strspn(text, "0123456789.eE-")] != '\0')
		return false;
	rate = strtod(text, &end);
	if (*end != '\0' || !(rate > 0 && rate < 1))
		return false;
	*(double *)value = rate;
	return true;
}

/* The keywords, what each needs, in messages, and where its value goes. */
#define AT(member) offsetof(struct update_settings, member)
static const struct keyword {
	const char *name;
	enum kind kind;
	const char *wanted;
	size_t offset;
} keywords[] = {
	{ "AllowedSigners", PATH, "an absolute path", AT(allowed_signers) },
	{ "CAFile", PATH, "an absolute path", AT(ca_file) },
	{ "Format", FORMAT, "pkbf or badkeys", AT(format) },
	{ "HoldIfRefused", HOLD,
	    "a number of accounts and names of groups, or never", AT(hold) },
	{ "Identity", TEXT, "a name", AT(identity) },
	{ "Lookup", SWITCH, "yes or no", AT(lookup) },
	{ "MaxAge", DAYS, "days, 1 to 36500", AT(max_age) },
	{ "MaxFalsePositives", RATE, "a number between 0 and 1", AT(max_rate) },
	{ "MaxSize", SIZE, "a number of bytes, K, M, G or T after it",
	    AT(max_bytes) },
	{ "NeverListed", PATH, "an absolute path", AT(never_listed) },
	{ "Proxy", PROXY, "a URL", AT(proxy) },
	{ "SignatureURL", TEXT, "a URL", AT(signature_url) },
	{ "StallTimeout", SECONDS, "seconds, 1 to 604800", AT(stall_timeout) },
	{ "Target", PATH, "an absolute path", AT(target) },
	{ "Timeout", SECONDS, "seconds, 1 to 604800", AT(timeout) },
	{ "URL", TEXT, "a URL", AT(url) },
};
#define COUNT (sizeof(keywords) / sizeof(keywords[0]))

struct parser {
	struct update_conf *conf;
	struct update_settings *s; /* the section of this line */
	const char *path;
	unsigned long line;
	char *why;
	bool seen[COUNT];
};

__attribute__((format(printf, 2, 3))) static bool
mistake(const struct parser *ps, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(ps->why, UPDATE_SETTINGS_WHY_BYTES,
	    "%.256s:%lu: ", ps->path, ps->line);

	va_start(ap, fmt);
	vsnprintf(ps->why + n, UPDATE_SETTINGS_WHY_BYTES - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

/*
 * Sets s to a source of this name, for which nothing of its own is set. What
 * holds in sections, too, is taken from top.
 */
static void
begin_source(const struct update_settings *top, const char *name,
    struct update_settings *s)
{
	const bool badkeys = strcmp(name, UPDATE_BADKEYS_NAME) == 0;

	*s = *top;
	s->name = name;
	s->format = badkeys ? UPDATE_FORMAT_BADKEYS : UPDATE_FORMAT_PKBF;
	s->url = badkeys ? UPDATE_BADKEYS_URL : NULL;
	s->target = badkeys ? UPDATE_BADKEYS_TARGET : NULL;
	s->signature_url = s->allowed_signers = NULL;
	s->identity = "keyveto";
	s->lookup = false;
}

static bool
begin_section(struct parser *ps, char *const *word, int n)
{
	static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789._-";
	struct update_conf *c = ps->conf;

	if (n != 2 || word[1][0] == '\0' ||
	    word[1][strspn(word[1], chars)] != '\0' ||
	    strlen(word[1]) > UPDATE_SOURCE_NAME_MAX)
		return mistake(ps,
		    "Source needs a name of up to %d letters, "
		    "digits, dots, hyphens and underscores",
		    UPDATE_SOURCE_NAME_MAX);
	for (size_t i = 1; i < c->n; i++)
		if (strcmp(c->source[i].name, word[1]) == 0)
			return mistake(ps, "a second Source %s", word[1]);
	if (c->n == UPDATE_SOURCES_MAX)
		return mistake(ps, "more than %d sources",
		    UPDATE_SOURCES_MAX - 1);
	ps->s = &c->source[c->n++];
	begin_source(&c->source[0], word[1], ps->s);
	memset(ps->seen, 0, sizeof(ps->seen));
	return true;
}

/* Confirm is about no source. The first line counts, but all are checked. */
static bool
set_confirm(struct parser *ps, char *const *word, int n)
{
	struct update_conf *c = ps->conf;

	if (c->n > 1)
		return mistake(ps, "Confirm stands before the first Source");
	if (n != 2 || strncasecmp(word[1], "https://", 8) != 0)
		return mistake(ps, "Confirm needs a URL, https://...");
	if (c->confirm == NULL)
		c->confirm = word[1];
	return true;
}

/* Whether a word is gone, after the reason with what to use. */
static bool
names_gone(const struct parser *ps, const char *word)
{
	if (strcasecmp(word, "Index") == 0)
		(void)mistake(ps,
		    "Index is gone: write the URL of the file in that folder: "
		    "of the filter, or of the manifest NAME.json of the list; "
		    "keyveto-publish, of the package keyveto-fleet, makes it. "
		    "AllowedSigners needs the namespaces keyveto-filter and "
		    "keyveto-list in the place of keyveto-index");
	else if (strcasecmp(word, "File") == 0)
		(void)mistake(ps,
		    "File is gone: write the URL of that file itself");
	else
		return false;
	return true;
}

static bool
parse_line(struct parser *ps, char *line)
{
	/* Room for any of the values. */
	union {
		const char *text;
		uint64_t number;
		double rate;
		enum update_format format;
		bool on;
		struct change_hold hold;
	} spare;
	char *word[KV_WORDS_MAX];
	const char *why = NULL;
	int n = kv_words_split(line, word, &why);

	if (n == -1)
		return mistake(ps, "%s", why);
	if (n == 0)
		return true;
	if (strcasecmp(word[0], "Source") == 0)
		return begin_section(ps, word, n);
	if (strcasecmp(word[0], "Confirm") == 0)
		return set_confirm(ps, word, n);
	for (size_t i = 0; i < COUNT; i++) {
		const struct keyword *k = &keywords[i];
		void *value = (char *)ps->s + k->offset;

		if (strcasecmp(word[0], k->name) != 0)
			continue;
		if (n > 2 && k->kind != HOLD)
			return mistake(ps, "%s takes one argument", k->name);
		if (n < 2)
			return mistake(ps, "%s needs an argument", k->name);
		/* If repeated, the first counts, but all are checked. */
		if (ps->seen[i])
			value = &spare;
		if (k->kind == HOLD ? read_hold(word + 1, n - 1, value) :
				      word[1][0] != '\0' &&
			    read_value(k->kind, word[1], value)) {
			ps->seen[i] = true;
			return true;
		}
		/* Do not print the value: it may hold a password. */
		return mistake(ps, "%s needs %s", k->name, k->wanted);
	}
	return !names_gone(ps, word[0]) &&
	    mistake(ps, "unknown keyword \"%.200s\"", word[0]);
}

void
update_conf_defaults(struct update_conf *c)
{
	*c = (struct update_conf){
		.source = { {
		    .name = "",
		    .identity = "keyveto",
		    .timeout = 6 * 3600,
		    .stall_timeout = 60,
		    .max_rate = 1e-3,
		    .hold = {
			.accounts = 5,
			.group = { "sudo", "wheel", "admin" },
			.n_groups = 3,
		    },
		} },
		.n = 1,
	};
}

static bool
parse_lines(struct parser *ps, char *line, const char *end)
{
	for (; line < end; ps->line++) {
		char *stop = memchr(line, '\n', (size_t)(end - line));

		if (stop == NULL)
			stop = (char *)end;
		*stop = '\0';
		if (memchr(line, '\0', (size_t)(stop - line)) != NULL)
			return mistake(ps, "NUL byte");
		if (!parse_line(ps, line))
			return false;
		line = stop + 1;
	}
	return true;
}

/* Each source has a file of its own: the last one would win each time. */
static bool
check_targets(const struct parser *ps)
{
	const struct update_settings *s = ps->conf->source;

	for (size_t i = 1; i < ps->conf->n; i++)
		for (size_t j = 0; s[i].target != NULL && j < i; j++)
			if (s[j].target != NULL &&
			    strcmp(s[i].target, s[j].target) == 0)
				return mistake(ps,
				    "Source %s has the Target of another "
				    "source, %.200s",
				    s[i].name, s[i].target);
	return true;
}

bool
update_conf_parse(const char *text, size_t len, const char *path,
    struct update_conf *c, char why[static UPDATE_SETTINGS_WHY_BYTES])
{
	struct parser ps = {
		.conf = c,
		.s = &c->source[0],
		.path = path,
		.line = 1,
		.why = why,
	};

	update_conf_defaults(c);
	why[0] = '\0';
	if (len > UPDATE_SETTINGS_MAX_BYTES)
		return mistake(&ps, "file too large");
	if ((c->text = malloc(len + 1)) == NULL)
		return mistake(&ps, "out of memory");
	memcpy(c->text, text, len);
	return parse_lines(&ps, c->text, c->text + len) && check_targets(&ps);
}

void
update_conf_free(struct update_conf *c)
{
	free(c->text);
	update_conf_defaults(c);
}

bool
update_conf_find(const struct update_conf *c, const char *name,
    struct update_settings *s)
{
	bool found = false;

	for (size_t i = 0; i < c->n && !found; i++) {
		found = strcmp(c->source[i].name, name) == 0;
		*s = c->source[i];
	}
	if (!found && (found = strcmp(name, UPDATE_BADKEYS_NAME) == 0))
		begin_source(&c->source[0], UPDATE_BADKEYS_NAME, s);
	if (s->max_bytes == 0)
		s->max_bytes = s->format == UPDATE_FORMAT_PKBF ? 4 * GIB : GIB;
	return found;
}

/* --- the file ------------------------------------------------------------- */

int
update_open_trusted(const char *path)
{
	char absolute[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	enum kv_err r;
	int fd = -1;

	if (realpath(path, absolute) == NULL)
		cli_error("%s: %s", path, strerror(errno));
	else if ((r = kv_trusted_open(absolute, geteuid(), &fd, why)) != KV_OK)
		cli_error("%s%s", why,
		    r == KV_ERR_SYSTEM ?
			"" :
			"; correct owner and mode, since it decides what is "
			"installed");
	return fd;
}

const char *
update_conf_path(const char *path)
{
	return path != NULL ? path : UPDATE_SETTINGS_PATH;
}

bool
update_conf_read(const char *path, struct update_conf *c)
{
	static char text[UPDATE_SETTINGS_MAX_BYTES + 1];
	char why[UPDATE_SETTINGS_WHY_BYTES];
	ssize_t len;
	int fd;

	update_conf_defaults(c);
	if (path == NULL && access(UPDATE_SETTINGS_PATH, F_OK) == -1 &&
	    errno == ENOENT)
		return true;
	path = update_conf_path(path);
	if ((fd = update_open_trusted(path)) == -1)
		return false;
	len = io_read(fd, text, sizeof(text));
	close(fd);
	if (len == -1)
		cli_error("%s: %s", path, strerror(errno));
	else if (!update_conf_parse(text, (size_t)len, path, c, why))
		cli_error("%s", why);
	else
		return true;
	return false;
}
