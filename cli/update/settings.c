/* SPDX-License-Identifier: ISC */
#include "update/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "command.h"
#include "kv_words.h"

#define GIB ((uint64_t)1 << 30)
#define TIMEOUT_MAX (7 * 86400)
#define AGE_MAX 36500

/* What the argument of a keyword is. */
enum kind { TEXT, PATH, PROXY, SECONDS, DAYS, SIZE, RATE };

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

/* Sets the value, whose type follows from kind. */
static bool
read_value(enum kind kind, const char *text, void *value)
{
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
	{ "Identity", TEXT, "a name", AT(identity) },
	{ "MaxAge", DAYS, "days, 1 to 36500", AT(max_age) },
	{ "MaxFalsePositives", RATE, "a number between 0 and 1", AT(max_rate) },
	{ "MaxSize", SIZE, "a number of bytes, K, M, G or T after it",
	    AT(max_bytes) },
	{ "Proxy", PROXY, "a URL", AT(proxy) },
	{ "SignatureURL", TEXT, "a URL", AT(signature_url) },
	{ "StallTimeout", SECONDS, "seconds, 1 to 604800", AT(stall_timeout) },
	{ "Timeout", SECONDS, "seconds, 1 to 604800", AT(timeout) },
	{ "URL", TEXT, "a URL", AT(url) },
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

static bool
parse_line(struct parser *ps, char *line)
{
	/* Room for any of the values. */
	union {
		const char *text;
		uint64_t number;
		double rate;
	} spare;
	char *word[KV_WORDS_MAX];
	const char *why = NULL;
	int n = kv_words_split(line, word, &why);

	if (n == -1)
		return mistake(ps, "%s", why);
	if (n == 0)
		return true;
	for (size_t i = 0; i < COUNT; i++) {
		const struct keyword *k = &keywords[i];
		void *value = (char *)ps->s + k->offset;

		if (strcasecmp(word[0], k->name) != 0)
			continue;
		if (n > 2)
			return mistake(ps, "%s takes one argument", k->name);
		if (n < 2)
			return mistake(ps, "%s needs an argument", k->name);
		/* If repeated, the first counts, but all are checked. */
		if (ps->seen[i])
			value = &spare;
		ps->seen[i] = true;
		if (word[1][0] != '\0' && read_value(k->kind, word[1], value))
			return true;
		/* Do not print the value: it may hold a password. */
		return mistake(ps, "%s needs %s", k->name, k->wanted);
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
		char *stop = memchr(line, '\n', (size_t)(end - line));

		if (stop == NULL)
			stop = end;
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
