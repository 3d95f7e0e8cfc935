/* SPDX-License-Identifier: ISC */
/* Parses the JSON of a manifest. Only programs behind a wall do. */
#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "published/manifest.h"
#include "sets/list_names.h"

#define FORMAT_KNOWN 0

__attribute__((format(printf, 2, 3))) static bool
mistake(char why[static MANIFEST_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, MANIFEST_WHY_BYTES, fmt, ap);
	va_end(ap);
	return false;
}

/*
 * Copies the member key of object, if it is plain text of fewer than cap bytes;
 * else "".
 */
static void
copy_plain(const json_t *object, const char *key, char *to, size_t cap)
{
	const char *text = json_string_value(json_object_get(object, key));

	to[0] = '\0';
	if (text != NULL && strlen(text) < cap && manifest_is_plain(text))
		memcpy(to, text, strlen(text) + 1);
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

static void
read_sources(const json_t *root, struct manifest *m)
{
	const json_t *lists = json_object_get(root, "blocklists");
	char name[KV_SOURCE_NAME_BYTES];

	for (size_t i = 0; i < json_array_size(lists); i++) {
		const json_t *list = json_array_get(lists, i);
		const json_t *id = json_object_get(list, "id");
		const json_int_t n = json_is_integer(id) ?
		    json_integer_value(id) :
		    -1;
		struct manifest_source *s;

		copy_plain(list, "name", name, sizeof(name));
		if (n < 0 || n >= MANIFEST_SOURCES ||
		    !list_names_is_valid(name)) {
			m->left_out++;
			continue;
		}
		s = &m->source[n];
		/* As in kv_sources, the first of an id counts. */
		if (s->name[0] != '\0')
			continue;
		memcpy(s->name, name, sizeof(name));
		copy_plain(list, "repo", s->repo, sizeof(s->repo));
		copy_plain(list, "path", s->path, sizeof(s->path));
	}
}

static void
read_deprecated(const json_t *root, struct manifest *m)
{
	const json_t *deprecated = json_object_get(root, "deprecated");
	const char *text = json_string_value(deprecated);

	m->deprecated = deprecated != NULL && !json_is_false(deprecated) &&
	    !json_is_null(deprecated);
	snprintf(m->deprecated_text, sizeof(m->deprecated_text), "%s",
	    text != NULL ? text : "");
}

/* Those of badkeys' own have no such member. */
static bool
read_expires(const json_t *root, struct manifest *m)
{
	const json_t *expires = json_object_get(root, "expires");
	const char *date = json_string_value(expires);

	if (expires == NULL)
		return true;
	return date != NULL && manifest_parse_date(date, &m->expires) &&
	    m->expires != 0;
}

static bool
read_members(const json_t *root, struct manifest *m,
    char why[static MANIFEST_WHY_BYTES])
{
	const json_t *format = json_object_get(root, "bkformat");
	const json_t *url = json_object_get(root, "blocklist_url");
	const char *date;

	read_deprecated(root, m);
	if (!json_is_integer(format))
		return mistake(why,
		    "has no bkformat: not a manifest of badkeys; correct URL");
	if (json_integer_value(format) != FORMAT_KNOWN)
		return mistake(why,
		    "is in format %lld, and this keyveto knows format 0 only; "
		    "install a newer keyveto",
		    (long long)json_integer_value(format));
	if (url == NULL || json_is_null(url))
		return mistake(why,
		    "names no list: the publisher no longer serves this "
		    "format; install a newer keyveto");
	copy_plain(root, "blocklist_url", m->blocklist_url,
	    sizeof(m->blocklist_url));
	if (m->blocklist_url[0] == '\0')
		return mistake(why, "blocklist_url is not a URL");
	if (!read_sha256(root, "blocklist_sha256", m->blocklist_sha256))
		return mistake(why, "blocklist_sha256 is not a SHA-256");
	date = json_string_value(json_object_get(root, "date"));
	if (date == NULL || !manifest_parse_date(date, &m->time))
		return mistake(why, "date is not a date of ISO 8601");
	if (!read_expires(root, m))
		return mistake(why, "expires is not a date of ISO 8601");
	copy_plain(root, "lookup_url", m->lookup_url, sizeof(m->lookup_url));
	if (m->lookup_url[0] != '\0' &&
	    !read_sha256(root, "lookup_sha256", m->lookup_sha256))
		return mistake(why, "lookup_sha256 is not a SHA-256");
	read_sources(root, m);
	return true;
}

bool
manifest_parse(const char *text, size_t len, struct manifest *m,
    char why[static MANIFEST_WHY_BYTES])
{
	json_error_t error;
	json_t *root;
	bool ok;

	*m = (struct manifest){ .time = 0 };
	why[0] = '\0';
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		return mistake(why, "not JSON: line %d: %s; correct URL",
		    error.line, error.text);
	ok = read_members(root, m, why);
	json_decref(root);
	return ok;
}
