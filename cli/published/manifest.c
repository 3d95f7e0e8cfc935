/* SPDX-License-Identifier: ISC */
#include "published/manifest.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "kv_sources.h"

#define FORMAT_KNOWN 0
#define TEXT_MAX 1024

__attribute__((format(printf, 2, 3))) static bool
mistake(char why[static MANIFEST_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, MANIFEST_WHY_BYTES, fmt, ap);
	va_end(ap);
	return false;
}

/* --- dates -------------------------------------------------------------- */

/* Reads exactly n digits at *p, up to max, and moves *p behind them. */
static bool
read_digits(const char **p, int n, int max, int *valuep)
{
	*valuep = 0;
	for (int i = 0; i < n; i++, (*p)++) {
		if (!isdigit((unsigned char)**p))
			return false;
		*valuep = *valuep * 10 + **p - '0';
	}
	return *valuep <= max;
}

static bool
skip_char(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* Reads "Z", "+HH:MM" or nothing, to the end of the text. */
static bool
read_offset(const char *p, int *secondsp)
{
	int sign = *p == '-' ? -1 : 1, hours, minutes;

	*secondsp = 0;
	if (*p == '\0' || strcmp(p, "Z") == 0)
		return true;
	if (*p != '+' && *p != '-')
		return false;
	p++;
	if (!read_digits(&p, 2, 23, &hours))
		return false;
	(void)skip_char(&p, ':');
	*secondsp = sign * hours * 3600;
	if (!read_digits(&p, 2, 59, &minutes) || *p != '\0')
		return false;
	*secondsp += sign * minutes * 60;
	return true;
}

bool
manifest_parse_date(const char *text, int64_t *timep)
{
	struct tm tm = { 0 }, day;
	const char *p = text;
	int offset = 0;
	time_t t;

	if (!read_digits(&p, 4, 9999, &tm.tm_year) || !skip_char(&p, '-') ||
	    !read_digits(&p, 2, 12, &tm.tm_mon) || !skip_char(&p, '-') ||
	    !read_digits(&p, 2, 31, &tm.tm_mday) || tm.tm_year < 1970)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	if (*p != '\0') {
		if ((!skip_char(&p, 'T') && !skip_char(&p, ' ')) ||
		    !read_digits(&p, 2, 23, &tm.tm_hour) ||
		    !skip_char(&p, ':') ||
		    !read_digits(&p, 2, 59, &tm.tm_min) ||
		    (skip_char(&p, ':') && !read_digits(&p, 2, 60, &tm.tm_sec)))
			return false;
		if (skip_char(&p, '.'))
			p += strspn(p, "0123456789");
		if (!read_offset(p, &offset))
			return false;
	}
	day = tm;
	t = timegm(&day);
	/* timegm turns the 31st of a short month into another day. */
	if (tm.tm_mon < 0 || tm.tm_mday == 0 ||
	    (tm.tm_sec < 60 &&
		(day.tm_mday != tm.tm_mday || day.tm_mon != tm.tm_mon)))
		return false;
	*timep = (int64_t)t - offset;
	return true;
}

/* --- members ------------------------------------------------------------ */

/* Whether text is not empty, not long, and printable ASCII without blanks. */
static bool
is_plain(const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)text[i]) ||
		    (unsigned char)text[i] > 0x7e)
			return false;
	return len > 0 && len <= TEXT_MAX;
}

/* The member key of object, if it is plain text; else NULL. */
static const char *
plain_member(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL && is_plain(text) ? text : NULL;
}

static bool
read_sha256(const json_t *root, const char *key,
    char sha256[static 2 * KV_SHA256_BYTES + 1])
{
	const char *text = json_string_value(json_object_get(root, key));

	if (text == NULL || strlen(text) != 2 * KV_SHA256_BYTES ||
	    text[strspn(text, "0123456789abcdefABCDEF")] != '\0')
		return false;
	for (size_t i = 0; i <= 2 * KV_SHA256_BYTES; i++)
		sha256[i] = (char)tolower((unsigned char)text[i]);
	return true;
}

/* Whether kv_sources takes it for a name. */
static bool
is_source_name(const char *text)
{
	return is_plain(text) && strlen(text) < KV_SOURCE_NAME_BYTES &&
	    text[strspn(text,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz0123456789._-")] == '\0';
}

static void
read_sources(const json_t *root, struct manifest *m)
{
	const json_t *lists = json_object_get(root, "blocklists");

	for (size_t i = 0; i < json_array_size(lists); i++) {
		const json_t *list = json_array_get(lists, i);
		const json_t *id = json_object_get(list, "id");
		const char *name = plain_member(list, "name");
		json_int_t n = json_is_integer(id) ?
		    json_integer_value(id) :
		    -1;
		struct manifest_source *s;

		if (n < 0 || n >= MANIFEST_SOURCES || name == NULL ||
		    !is_source_name(name)) {
			m->left_out++;
			continue;
		}
		s = &m->source[n];
		/* As in kv_sources, the first of an id counts. */
		if (s->name != NULL)
			continue;
		s->name = name;
		s->repo = plain_member(list, "repo");
		s->path = plain_member(list, "path");
	}
}

static bool
read_members(struct manifest *m, char why[static MANIFEST_WHY_BYTES])
{
	const json_t *format = json_object_get(m->root, "bkformat");
	const json_t *deprecated = json_object_get(m->root, "deprecated");
	const json_t *url = json_object_get(m->root, "blocklist_url");
	const char *date;

	m->deprecated = deprecated != NULL && !json_is_false(deprecated) &&
	    !json_is_null(deprecated);
	m->deprecated_text = json_string_value(deprecated);
	if (!json_is_integer(format))
		return mistake(why,
		    "has no bkformat: not a manifest of badkeys; "
		    "correct URL");
	if (json_integer_value(format) != FORMAT_KNOWN)
		return mistake(why,
		    "is in format %lld, and this keyveto knows format 0 only; "
		    "install a newer keyveto",
		    (long long)json_integer_value(format));
	if (url == NULL || json_is_null(url))
		return mistake(why,
		    "names no list: the publisher no longer "
		    "serves this format; install a newer "
		    "keyveto");
	m->blocklist_url = plain_member(m->root, "blocklist_url");
	if (m->blocklist_url == NULL)
		return mistake(why, "blocklist_url is not a URL");
	if (!read_sha256(m->root, "blocklist_sha256", m->blocklist_sha256))
		return mistake(why, "blocklist_sha256 is not a SHA-256");
	date = json_string_value(json_object_get(m->root, "date"));
	if (date == NULL || !manifest_parse_date(date, &m->time))
		return mistake(why, "date is not a date of ISO 8601");
	if ((m->lookup_url = plain_member(m->root, "lookup_url")) != NULL &&
	    !read_sha256(m->root, "lookup_sha256", m->lookup_sha256))
		return mistake(why, "lookup_sha256 is not a SHA-256");
	read_sources(m->root, m);
	return true;
}

bool
manifest_parse(const char *text, size_t len, struct manifest *m,
    char why[static MANIFEST_WHY_BYTES])
{
	json_error_t error;

	*m = (struct manifest){ .time = 0 };
	why[0] = '\0';
	m->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (m->root == NULL)
		return mistake(why, "not JSON: line %d: %s; correct URL",
		    error.line, error.text);
	return read_members(m, why);
}

void
manifest_free(struct manifest *m)
{
	json_decref(m->root);
	*m = (struct manifest){ .time = 0 };
}
