/* SPDX-License-Identifier: ISC */
#include "update/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kv_words.h"

#define GIB ((uint64_t)1 << 30)
#define TIMEOUT_MAX (7 * 86400)
#define AGE_MAX 36500

/* A keyword, how its argument is parsed, and where the value goes. */
struct keyword {
	const char *name;
	bool (*read)(const char *text, void *value);
	const char *wanted; /* what it needs, in messages */
	size_t offset;
};

static bool
read_text(const char *text, void *value)
{
	*(const char **)value = text;
	return true;
}

static bool
read_path(const char *text, void *value)
{
	*(const char **)value = text;
	return text[0] == '/';
}

static bool
read_proxy(const char *text, void *value)
{
	*(const char **)value = strcasecmp(text, "none") == 0 ? "" : text;
	return true;
}

/* Parses leading digits; *endp is behind them. */
static bool
read_digits(const char *text, uint64_t *np, char **endp)
{
	unsigned long long n;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	n = strtoull(text, endp, 10);
	*np = n;
	return errno == 0;
}

static bool
read_number(const char *text, uint64_t max, void *value)
{
	uint64_t n;
	char *end;

	if (!read_digits(text, &n, &end) || *end != '\0' || n == 0 || n > max)
		return false;
	*(uint64_t *)value = n;
	return true;
}

static bool
read_seconds(const char *text, void *value)
{
	return read_number(text, TIMEOUT_MAX, value);
}

static bool
read_days(const char *text, void *value)
{
	return read_number(text, AGE_MAX, value);
}

static bool
read_size(const char *text, void *value)
{
	static const char units[] = "KMGT";
	const char *unit;
	unsigned int shift = 0;
	uint64_t n;
	char *end;

	if (!read_digits(text, &n, &end) || n == 0)
		return false;
	if (*end != '\0') {
		unit = strchr(units, toupper((unsigned char)*end));
		if (unit == NULL || end[1] != '\0')
			return false;
		shift = 10 * (unsigned int)(unit - units + 1);
	}
	if (n > (uint64_t)INT64_MAX >> shift)
		return false;
	*(uint64_t *)value = n << shift;
	return true;
}

static bool
read_rate(const char *text, void *value)
{
	double rate;
	char *end;

	if (text[strspn(text, "0123456789.eE-")] != '\0' || *text == '\0')
		return false;
	rate = strtod(text, &end);
	if (*end != '\0' || !(rate > 0 && rate < 1))
		return false;
	*(double *)value = rate;
	return true;
}

#define AT(member) offsetof(struct update_settings, member)
static const struct keyword keywords[] = {
	{ "AllowedSigners", read_path, "an absolute path",
	    AT(allowed_signers) },
	{ "CAFile", read_path, "an absolute path", AT(ca_file) },
	{ "Identity", read_text, "a name", AT(identity) },
	{ "MaxAge", read_days, "days, 1 to 36500", AT(max_age) },
	{ "MaxFalsePositives", read_rate, "a number between 0 and 1",
	    AT(max_rate) },
	{ "MaxSize", read_size, "a number of bytes, K, M, G or T after it",
	    AT(max_bytes) },
	{ "Proxy", read_proxy, "a URL", AT(proxy) },
	{ "SignatureURL", read_text, "a URL", AT(signature_url) },
	{ "StallTimeout", read_seconds, "seconds, 1 to 604800",
	    AT(stall_timeout) },
	{ "Timeout", read_seconds, "seconds, 1 to 604800", AT(timeout) },
	{ "URL", read_text, "a URL", AT(url) },
};
#define COUNT (sizeof(keywords) / sizeof(keywords[0]))

struct parser {
	struct update_settings *s;
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
 * Sets the value of keyword i. If it is repeated, the first counts, but all are
 * checked. False with a reason.
 */
static bool
set_value(struct parser *ps, size_t i, const char *text)
{
	/* Room for any of the values. */
	union {
		const char *text;
		uint64_t number;
		double rate;
	} spare;
	const struct keyword *k = &keywords[i];
	void *value = ps->seen[i] ? (void *)&spare : (char *)ps->s + k->offset;

	ps->seen[i] = true;
	/* Do not print the value: it may hold a password. */
	return text[0] != '\0' && k->read(text, value) ?
	    true :
	    mistake(ps, "%s needs %s", k->name, k->wanted);
}

static bool
parse_line(struct parser *ps, char *line)
{
	char *word[KV_WORDS_MAX];
	const char *why = NULL;
	int n = kv_words_split(line, word, &why);

	if (n == -1)
		return mistake(ps, "%s", why);
	if (n == 0)
		return true;
	for (size_t i = 0; i < COUNT; i++) {
		if (strcasecmp(word[0], keywords[i].name) != 0)
			continue;
		if (n != 2)
			return mistake(ps,
			    n > 2 ? "%s takes one argument" :
				    "%s needs an argument",
			    keywords[i].name);
		return set_value(ps, i, word[1]);
	}
	return mistake(ps, "unknown keyword \"%.200s\"", word[0]);
}

void
update_settings_defaults(struct update_settings *s)
{
	*s = (struct update_settings){
		.identity = "keyveto",
		.max_bytes = 4 * GIB,
		.timeout = 6 * 3600,
		.stall_timeout = 60,
		.max_rate = 1e-3,
	};
}

bool
update_settings_parse(const char *text, size_t len, const char *path,
    struct update_settings *s, char why[static UPDATE_SETTINGS_WHY_BYTES])
{
	struct parser ps = { .s = s, .path = path, .line = 1, .why = why };
	char *line, *end;

	update_settings_defaults(s);
	why[0] = '\0';
	if (len > UPDATE_SETTINGS_MAX_BYTES)
		return mistake(&ps, "file too large");
	if ((s->text = malloc(len + 1)) == NULL)
		return mistake(&ps, "out of memory");
	memcpy(s->text, text, len);
	end = s->text + len;
	for (line = s->text; line < end; ps.line++) {
		char *nl = memchr(line, '\n', (size_t)(end - line));
		char *stop = nl != NULL ? nl : end;

		*stop = '\0';
		if (memchr(line, '\0', (size_t)(stop - line)) != NULL)
			return mistake(&ps, "NUL byte");
		if (!parse_line(&ps, line))
			return false;
		line = stop + 1;
	}
	return true;
}

void
update_settings_free(struct update_settings *s)
{
	free(s->text);
	update_settings_defaults(s);
	s->text = NULL;
}
