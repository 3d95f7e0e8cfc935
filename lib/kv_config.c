/* SPDX-License-Identifier: ISC */
#include "kv_config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <unistd.h>

#include "kv_words.h"

/* The Makefile sets what the local sshd checks: Debian's is laxer. */
#ifndef KV_STRICTMODES_DEFAULT
#define KV_STRICTMODES_DEFAULT KV_STRICTMODES_YES
#endif

#define SECONDS_A_DAY 86400

struct parser {
	struct kv_config *c;
	/* parse_owned hands these to c at the end. */
	struct kv_key_lines allowed, denied;
	const char *path;
	unsigned long line;
	char *why;
	bool failed;
	/*
	 * Of a keyword with one value the first line counts, as in sshd_config.
	 */
	bool seen_on_hit, seen_on_error, seen_on_unsupported, seen_patterns;
	bool seen_strictmodes, seen_wildcards, seen_facility;
	bool seen_on_probable;
};

static const char *const default_patterns[] = {
	".ssh/authorized_keys",
	".ssh/authorized_keys2",
};

struct word_value {
	const char *word;
	int value;
};

static const struct word_value deny_warn[] = {
	{ "deny", KV_ACTION_DENY },
	{ "warn", KV_ACTION_WARN },
	{ NULL, 0 },
};
static const struct word_value deny_allow[] = {
	{ "deny", KV_ACTION_DENY },
	{ "allow", KV_ACTION_ALLOW },
	{ NULL, 0 },
};
static const struct word_value strictmodes[] = {
	{ "yes", KV_STRICTMODES_YES },
	{ "private-group", KV_STRICTMODES_PRIVATE_GROUP },
	{ "no", KV_STRICTMODES_NO },
	{ NULL, 0 },
};
static const struct word_value wildcards[] = {
	{ "yes", KV_WILDCARDS_YES },
	{ "no", KV_WILDCARDS_NO },
	{ NULL, 0 },
};
/* The facilities of sshd_config(5). */
static const struct word_value facilities[] = {
	{ "DAEMON", LOG_DAEMON },
	{ "USER", LOG_USER },
	{ "AUTH", LOG_AUTH },
	{ "AUTHPRIV", LOG_AUTHPRIV },
	{ "LOCAL0", LOG_LOCAL0 },
	{ "LOCAL1", LOG_LOCAL1 },
	{ "LOCAL2", LOG_LOCAL2 },
	{ "LOCAL3", LOG_LOCAL3 },
	{ "LOCAL4", LOG_LOCAL4 },
	{ "LOCAL5", LOG_LOCAL5 },
	{ "LOCAL6", LOG_LOCAL6 },
	{ "LOCAL7", LOG_LOCAL7 },
	{ NULL, 0 },
};

/* Writes the first mistake to why. Later mistakes are ignored. */
__attribute__((format(printf, 2, 3))) static void
note_mistake(struct parser *ps, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (ps->failed)
		return;
	ps->failed = true;
	n = snprintf(ps->why, KV_CONFIG_WHY_BYTES, "%s:%lu: ", ps->path,
	    ps->line);
	if (n < 0 || n >= KV_CONFIG_WHY_BYTES)
		return;
	va_start(ap, fmt);
	vsnprintf(ps->why + n, KV_CONFIG_WHY_BYTES - (size_t)n, fmt, ap);
	va_end(ap);
}

/* Joins the words from index i on, in place, with one blank between them. */
static const char *
join_words(char *word[], int n, int i)
{
	char *start, *out;

	if (i >= n)
		return "";
	start = word[i];
	out = start + strlen(start);
	for (i++; i < n; i++) {
		size_t len = strlen(word[i]);

		*out++ = ' ';
		memmove(out, word[i], len + 1);
		out += len;
	}
	return start;
}

static bool
one_argument(struct parser *ps, char *word[], int n)
{
	if (n == 2 && word[1][0] != '\0')
		return true;
	note_mistake(ps,
	    n > 2 ? "%s takes one argument" : "%s needs an argument", word[0]);
	return false;
}

static const struct word_value *
find_word(const struct word_value *table, const char *word)
{
	for (; table->word != NULL; table++)
		if (strcasecmp(table->word, word) == 0)
			return table;
	return NULL;
}

bool
kv_config_read_strictmodes(const char *word, enum kv_strictmodes *mode)
{
	const struct word_value *found = find_word(strictmodes, word);

	if (found != NULL)
		*mode = (enum kv_strictmodes)found->value;
	return found != NULL;
}

bool
kv_config_read_wildcards(const char *word, enum kv_wildcards *mode)
{
	const struct word_value *found = find_word(wildcards, word);

	if (found != NULL)
		*mode = (enum kv_wildcards)found->value;
	return found != NULL;
}

const char *
kv_config_strictmodes_word(enum kv_strictmodes mode)
{
	const struct word_value *w = strictmodes;

	while (w->value != (int)mode)
		w++;
	return w->word;
}

/* Sets *valuep to the value of word[1], unless an earlier line set it. */
static void
set_word(struct parser *ps, char *word[], int n, const struct word_value *table,
    bool *seen, int *valuep)
{
	if (!one_argument(ps, word, n))
		return;
	if ((table = find_word(table, word[1])) == NULL) {
		note_mistake(ps, "bad value \"%s\" for %s", word[1], word[0]);
		return;
	}
	if (!*seen)
		*valuep = table->value;
	*seen = true;
}

/* Adds the path of a Filter or Blocklist line to path, which has *np of max. */
static void
add_path(struct parser *ps, char *word[], int n, const char *path[], size_t *np,
    size_t max)
{
	if (!one_argument(ps, word, n))
		return;
	if (word[1][0] != '/')
		note_mistake(ps, "%s needs an absolute path, not \"%s\"",
		    word[0], word[1]);
	else if (*np == max)
		note_mistake(ps, "more than %zu %s lines", max, word[0]);
	else
		path[(*np)++] = word[1];
}

static void
set_patterns(struct parser *ps, char *word[], int n)
{
	static const struct kv_account nobody = { .name = "", .home = "/" };
	char path[PATH_MAX];

	if (n < 2) {
		note_mistake(ps, "%s needs an argument", word[0]);
		return;
	}
	if (n - 1 > KV_CONFIG_MAX_PATTERNS) {
		note_mistake(ps, "more than %d patterns",
		    KV_CONFIG_MAX_PATTERNS);
		return;
	}
	for (int i = 1; i < n; i++) {
		if (kv_userfile_expand(word[i], &nobody, path, sizeof(path)) !=
		    KV_OK) {
			note_mistake(ps,
			    "bad pattern \"%s\" (tokens are %%h %%u "
			    "%%U %%%%)",
			    word[i]);
			return;
		}
	}
	if (ps->seen_patterns)
		return;
	ps->seen_patterns = true;
	ps->c->n_patterns = 0;
	for (int i = 1; i < n; i++) {
		if (strcasecmp(word[i], "none") != 0)
			ps->c->pattern[ps->c->n_patterns++] = word[i];
	}
}

static bool
read_digits(const char *s, int n, int *valuep)
{
	*valuep = 0;
	while (n-- > 0) {
		if (*s < '0' || *s > '9')
			return false;
		*valuep = *valuep * 10 + (*s++ - '0');
	}
	return true;
}

bool
kv_config_read_date(const char *s, int64_t *daysp)
{
	static const int month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30,
		31, 30, 31 };
	int y, m, d, leap;
	int64_t days;

	if (strlen(s) != 10 || s[4] != '-' || s[7] != '-' ||
	    !read_digits(s, 4, &y) || !read_digits(s + 5, 2, &m) ||
	    !read_digits(s + 8, 2, &d) || y < 1970 || m < 1 || m > 12)
		return false;
	leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
	if (d < 1 || d > month_days[m - 1] + (m == 2 && leap))
		return false;
	/* Leap days before this year, counted from year 0. */
	days = (int64_t)(y - 1970) * 365 + (y - 1) / 4 - (y - 1) / 100 +
	    (y - 1) / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
	for (int i = 1; i < m; i++)
		days += month_days[i - 1] + (i == 2 && leap);
	*daysp = days + d - 1;
	return true;
}

/* Adds an AllowKey or DenyKey line. date is what stands before its date. */
static void
add_key(struct parser *ps, char *word[], int n, const char *date,
    int64_t without_date, struct kv_key_lines *lines)
{
	struct kv_key_line key = { .day = without_date };
	struct kv_key_line *grown;
	const size_t len = strlen(date);
	int i = 2;

	if (n < 2) {
		note_mistake(ps, "%s needs a fingerprint", word[0]);
		return;
	}
	if (kv_fingerprint_parse((struct kv_span){ (const uint8_t *)word[1],
				     strlen(word[1]) },
		key.digest) != KV_OK) {
		note_mistake(ps,
		    "bad fingerprint \"%s\" (SHA256:... as "
		    "ssh-keygen -l prints it)",
		    word[1]);
		return;
	}
	if (n > 2 && strncmp(word[2], date, len) == 0) {
		if (!kv_config_read_date(word[2] + len, &key.day)) {
			note_mistake(ps, "bad date \"%s\" (%sYYYY-MM-DD)",
			    word[2] + len, date);
			return;
		}
		i = 3;
	}
	key.reason = join_words(word, n, i);
	/* The array doubles when n reaches a power of two. */
	if ((lines->n & (lines->n - 1)) == 0) {
		size_t cap = lines->n == 0 ? 1 : lines->n * 2;

		grown = reallocarray(lines->v, cap, sizeof(key));
		if (grown == NULL) {
			note_mistake(ps, "out of memory");
			return;
		}
		lines->v = grown;
	}
	lines->v[lines->n++] = key;
}

static void
set_message(struct parser *ps, char *word[], int n)
{
	if (n < 2) {
		note_mistake(ps, "%s needs a text", word[0]);
		return;
	}
	if (ps->c->message == NULL)
		ps->c->message = join_words(word, n, 1);
}

static void
parse_line(struct parser *ps, char *line)
{
	struct kv_config *c = ps->c;
	char *word[KV_WORDS_MAX];
	const char *why = NULL;
	int n = kv_words_split(line, word, &why), value;

	if (n == -1)
		note_mistake(ps, "%s", why);
	if (n < 1)
		return;
	if (strcasecmp(word[0], "Filter") == 0) {
		add_path(ps, word, n, c->filter, &c->n_filters,
		    KV_CONFIG_MAX_FILTERS);
	} else if (strcasecmp(word[0], "Blocklist") == 0) {
		add_path(ps, word, n, c->blocklist, &c->n_blocklists,
		    KV_CONFIG_MAX_BLOCKLISTS);
	} else if (strcasecmp(word[0], "AllowKey") == 0) {
		add_key(ps, word, n, "until=", KV_CONFIG_NO_END, &ps->allowed);
	} else if (strcasecmp(word[0], "DenyKey") == 0) {
		add_key(ps, word, n, "since=", KV_CONFIG_NO_START, &ps->denied);
	} else if (strcasecmp(word[0], "OnHit") == 0) {
		value = (int)c->on_hit;
		set_word(ps, word, n, deny_warn, &ps->seen_on_hit, &value);
		c->on_hit = (enum kv_action)value;
	} else if (strcasecmp(word[0], "OnProbable") == 0) {
		value = (int)c->on_probable;
		set_word(ps, word, n, deny_warn, &ps->seen_on_probable, &value);
		c->on_probable = (enum kv_action)value;
	} else if (strcasecmp(word[0], "OnError") == 0) {
		value = (int)c->on_error;
		set_word(ps, word, n, deny_allow, &ps->seen_on_error, &value);
		c->on_error = (enum kv_action)value;
	} else if (strcasecmp(word[0], "OnUnsupported") == 0) {
		value = (int)c->on_unsupported;
		set_word(ps, word, n, deny_allow, &ps->seen_on_unsupported,
		    &value);
		c->on_unsupported = (enum kv_action)value;
	} else if (strcasecmp(word[0], "AuthorizedKeysFile") == 0) {
		set_patterns(ps, word, n);
	} else if (strcasecmp(word[0], "AuthorizedKeysFileWildcards") == 0) {
		value = (int)c->wildcards;
		set_word(ps, word, n, wildcards, &ps->seen_wildcards, &value);
		c->wildcards = (enum kv_wildcards)value;
	} else if (strcasecmp(word[0], "StrictModes") == 0) {
		value = (int)c->strictmodes;
		set_word(ps, word, n, strictmodes, &ps->seen_strictmodes,
		    &value);
		c->strictmodes = (enum kv_strictmodes)value;
	} else if (strcasecmp(word[0], "SyslogFacility") == 0) {
		set_word(ps, word, n, facilities, &ps->seen_facility,
		    &c->syslog_facility);
	} else if (strcasecmp(word[0], "Message") == 0) {
		set_message(ps, word, n);
	} else
		note_mistake(ps, "unknown keyword \"%s\"", word[0]);
}

void
kv_config_defaults(struct kv_config *c)
{
	*c = (struct kv_config){
		.filter = { KV_CONFIG_FILTER_PATH },
		.n_filters = 1,
		.pattern = { default_patterns[0], default_patterns[1] },
		.n_patterns = 2,
		.on_hit = KV_ACTION_DENY,
		.on_probable = KV_ACTION_DENY,
		.on_error = KV_ACTION_DENY,
		.on_unsupported = KV_ACTION_ALLOW,
		.strictmodes = KV_STRICTMODES_DEFAULT,
		.syslog_facility = LOG_AUTHPRIV,
	};
}

/*
 * Parses text of len bytes, which has room for one more. c takes ownership of
 * text.
 */
static enum kv_err
parse_owned(struct kv_config *c, char *text, size_t len, const char *path,
    char why[static KV_CONFIG_WHY_BYTES])
{
	struct parser ps = { .c = c, .path = path, .why = why };
	char *line = text, *end = text + len;

	c->text = text;
	c->n_filters = 0;
	while (line < end) {
		char *nl = memchr(line, '\n', (size_t)(end - line));
		char *stop = nl != NULL ? nl : end;

		ps.line++;
		*stop = '\0';
		if (memchr(line, '\0', (size_t)(stop - line)) != NULL)
			note_mistake(&ps, "NUL byte");
		else
			parse_line(&ps, line);
		line = stop + 1;
	}
	c->allowed = ps.allowed;
	c->denied = ps.denied;
	if (c->n_filters == 0 && c->n_blocklists == 0)
		c->n_filters = 1; /* that of kv_config_defaults */
	if (!ps.seen_on_probable)
		c->on_probable = c->on_hit;
	return ps.failed ? KV_ERR_CONFIG : KV_OK;
}

enum kv_err
kv_config_parse(const char *text, size_t len, const char *path,
    struct kv_config *c, char why[static KV_CONFIG_WHY_BYTES])
{
	char *copy;

	kv_config_defaults(c);
	why[0] = '\0';
	if (len > KV_CONFIG_MAX_BYTES) {
		snprintf(why, KV_CONFIG_WHY_BYTES, "%s:1: file too large",
		    path);
		return KV_ERR_CONFIG;
	}
	if ((copy = malloc(len + 1)) == NULL) {
		snprintf(why, KV_CONFIG_WHY_BYTES, "%s: out of memory", path);
		return KV_ERR_MEMORY;
	}
	memcpy(copy, text, len);
	return parse_owned(c, copy, len, path, why);
}

enum kv_err
kv_config_read(int fd, const char *path, struct kv_config *c,
    char why[static KV_CONFIG_WHY_BYTES])
{
	size_t cap = 0, len = 0;
	char *text = NULL, *grown;
	ssize_t n;

	kv_config_defaults(c);
	why[0] = '\0';
	for (;;) {
		/* Keep one byte free for parse_owned. */
		if (cap - len < 2) {
			cap += 4096;
			if ((grown = realloc(text, cap)) == NULL) {
				free(text);
				snprintf(why, KV_CONFIG_WHY_BYTES,
				    "%s: out of memory", path);
				return KV_ERR_MEMORY;
			}
			text = grown;
		}
		n = read(fd, text + len, cap - len - 1);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			int saved = errno;

			free(text);
			snprintf(why, KV_CONFIG_WHY_BYTES, "%s: %s", path,
			    strerror(saved));
			errno = saved;
			return KV_ERR_SYSTEM;
		}
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > KV_CONFIG_MAX_BYTES) {
			free(text);
			snprintf(why, KV_CONFIG_WHY_BYTES,
			    "%s:1: file too large", path);
			return KV_ERR_CONFIG;
		}
	}
	return parse_owned(c, text, len, path, why);
}

void
kv_config_free(struct kv_config *c)
{
	free(c->text);
	free(c->allowed.v);
	free(c->denied.v);
	c->text = NULL;
	c->allowed = c->denied = (struct kv_key_lines){ .v = NULL };
	c->n_filters = 0;
	c->n_blocklists = 0;
	c->n_patterns = 0;
}

const struct kv_key_line *
kv_config_find_allowed(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now)
{
	const struct kv_key_lines *lines = &c->allowed;

	for (size_t i = 0; i < lines->n; i++) {
		if (memcmp(lines->v[i].digest, digest, KV_SHA256_BYTES) == 0 &&
		    now / SECONDS_A_DAY <= lines->v[i].day)
			return &lines->v[i];
	}
	return NULL;
}

const struct kv_key_line *
kv_config_find_denied(const struct kv_config *c,
    const uint8_t digest[static KV_SHA256_BYTES], int64_t now)
{
	const struct kv_key_lines *lines = &c->denied;

	for (size_t i = 0; i < lines->n; i++) {
		if (memcmp(lines->v[i].digest, digest, KV_SHA256_BYTES) == 0 &&
		    now / SECONDS_A_DAY >= lines->v[i].day)
			return &lines->v[i];
	}
	return NULL;
}

void
kv_config_message(const char *message, const char *fingerprint,
    const char *type, char *out, size_t cap)
{
	size_t len = 0;

	for (const char *p = message; *p != '\0' && len + 1 < cap; p++) {
		const char *add = NULL;

		if (p[0] == '%' && p[1] == 'f')
			add = fingerprint;
		else if (p[0] == '%' && p[1] == 't')
			add = type;
		else if (p[0] == '%' && p[1] == '%')
			add = "%";
		if (add == NULL) {
			out[len++] = *p;
			continue;
		}
		p++;
		while (*add != '\0' && len + 1 < cap)
			out[len++] = *add++;
	}
	out[len] = '\0';
}
