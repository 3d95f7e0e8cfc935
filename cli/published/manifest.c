/* SPDX-License-Identifier: ISC */
#include "published/manifest.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "sets/list_names.h"

/* No second that manifest_parse_date finds is as late: 9999, at -23:59. */
#define TIME_MAX (INT64_C(253402300800) + 86400)

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

bool
manifest_is_sha256(const char *text)
{
	return strspn(text, "0123456789abcdef") == 2 * KV_SHA256_BYTES &&
	    text[2 * KV_SHA256_BYTES] == '\0';
}

bool
manifest_is_plain(const char *text)
{
	const size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return len > 0;
}

/* --- records ------------------------------------------------------------ */

/* Each list of fields is of what is written and of what is read. */
#define SOURCE_FIELDS(s) R_TEXT((s)->name), R_TEXT((s)->repo), R_TEXT((s)->path)
#define REST_FIELDS(f, m) \
	R_FLAG((f)->ok), R_TEXT((f)->why), R_TEXT((m)->blocklist_url), \
	    R_TEXT((m)->blocklist_sha256), R_TEXT((m)->lookup_url), \
	    R_TEXT((m)->lookup_sha256), R_ANY((m)->time), R_ANY((m)->expires), \
	    R_FLAG((m)->deprecated), R_TEXT((m)->deprecated_text), \
	    R_NUMBER((m)->left_out, MANIFEST_MAX_BYTES)

/* A part begins with the id of its source, or with MANIFEST_SOURCES. */
bool
manifest_add_part(struct record_out *o, const struct manifest_found *f,
    size_t id)
{
	const struct manifest_source *s;

	record_add(o, R_ANY(id));
	if (id == MANIFEST_SOURCES) {
		record_add(o, REST_FIELDS(f, f->manifest));
		return true;
	}
	s = &f->manifest->source[id];
	record_add(o, SOURCE_FIELDS(s));
	return s->name[0] != '\0';
}

static bool
is_empty_or_plain(const char *text)
{
	return text[0] == '\0' || manifest_is_plain(text);
}

static bool
get_source(struct kv_bytes b, struct manifest_source *s)
{
	return s->name[0] == '\0' && record_get_all(&b, SOURCE_FIELDS(s)) &&
	    list_names_is_valid(s->name) && is_empty_or_plain(s->repo) &&
	    is_empty_or_plain(s->path);
}

/* Whether the list, and the lookup file if any, has a place and a hash. */
static bool
is_whole(const struct manifest *m)
{
	return manifest_is_plain(m->blocklist_url) &&
	    manifest_is_sha256(m->blocklist_sha256) &&
	    is_empty_or_plain(m->lookup_url) &&
	    (m->lookup_url[0] == '\0' ||
		manifest_is_sha256(m->lookup_sha256)) &&
	    m->time > -TIME_MAX && m->time < TIME_MAX &&
	    m->expires > -TIME_MAX && m->expires < TIME_MAX;
}

static bool
get_rest(struct kv_bytes b, struct manifest_found *f)
{
	if (!record_get_all(&b, REST_FIELDS(f, f->manifest)))
		return false;
	f->complete = true;
	return (f->why[0] == '\0') == f->ok &&
	    (!f->ok || is_whole(f->manifest));
}

bool
manifest_get_part(struct kv_bytes b, struct manifest_found *f)
{
	uint64_t id;

	if (f->complete || !record_get(&b, R_NUMBER(id, MANIFEST_SOURCES)))
		return false;
	return id == MANIFEST_SOURCES ?
	    get_rest(b, f) :
	    get_source(b, &f->manifest->source[id]);
}
