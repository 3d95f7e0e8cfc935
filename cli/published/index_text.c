/* SPDX-License-Identifier: ISC */
/* Parses and formats the text of an index. */
#include "published/index.h"

#include <jansson.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "published/manifest.h"

#define FORMAT_KNOWN "keyveto-index-1"
#define SIGNATURE_BEGINS "-----BEGIN SSH SIGNATURE-----"

static const char *const type_name[] = {
	[INDEX_PKBF] = "pkbf",
	[INDEX_BLOCKLIST] = "blocklist",
};

bool
index_split(const char *bytes, size_t len, size_t *text_lenp)
{
	const char *p = bytes, *end = bytes + len, *eol;

	*text_lenp = len;
	/* No string of JSON has a line end in it. */
	while (p < end) {
		if ((size_t)(end - p) >= strlen(SIGNATURE_BEGINS) &&
		    memcmp(p, SIGNATURE_BEGINS, strlen(SIGNATURE_BEGINS)) ==
			0) {
			*text_lenp = (size_t)(p - bytes);
			return true;
		}
		if ((eol = memchr(p, '\n', (size_t)(end - p))) == NULL)
			break;
		p = eol + 1;
	}
	return false;
}

/* --- parsing ------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static bool
mistake(char why[static INDEX_WHY_BYTES], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, INDEX_WHY_BYTES, fmt, ap);
	va_end(ap);
	return false;
}

/* What an error says of an element: "file 3", "delta 2 of filter.pkbf". */
#define WHERE_BYTES (INDEX_NAME_MAX + 64)

/* A member of an object, and where the object is. */
struct reading {
	const json_t *object;
	char where[WHERE_BYTES]; /* ends with ": "; "" for the index itself */
	char *why;		 /* INDEX_WHY_BYTES */
};

__attribute__((format(printf, 2, 3))) static void
set_where(struct reading *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->where, sizeof(r->where), fmt, ap);
	va_end(ap);
}

static bool
read_number(const struct reading *r, const char *key, uint64_t min,
    uint64_t max, uint64_t *valuep)
{
	const json_t *value = json_object_get(r->object, key);
	json_int_t n = json_integer_value(value);

	*valuep = 0;
	if (value == NULL)
		return mistake(r->why, "%shas no %s", r->where, key);
	if (!json_is_integer(value) || n < 0 || (uint64_t)n < min ||
	    (uint64_t)n > max)
		return mistake(r->why,
		    "%s%s is not a whole number from %llu to %llu", r->where,
		    key, (unsigned long long)min, (unsigned long long)max);
	*valuep = (uint64_t)n;
	return true;
}

/* NULL after a mistake. The text lives as long as the object. */
static const char *
read_text(const struct reading *r, const char *key)
{
	const json_t *value = json_object_get(r->object, key);

	if (value == NULL)
		(void)mistake(r->why, "%shas no %s", r->where, key);
	else if (!json_is_string(value))
		(void)mistake(r->why, "%s%s is not a string", r->where, key);
	return json_string_value(value);
}

static bool
read_time(const struct reading *r, const char *key, int64_t *timep)
{
	const char *text = read_text(r, key);
	char again[INDEX_TIME_BYTES];

	if (text == NULL)
		return false;
	/* Of the forms that the manifest may use, this is the only one here. */
	if (!manifest_parse_date(text, timep) ||
	    !index_format_time(*timep, again) || strcmp(text, again) != 0)
		return mistake(r->why,
		    "%s%s is not a time like 2026-11-23T03:00:00Z", r->where,
		    key);
	return true;
}

static bool
read_sha256(const struct reading *r, const char *key,
    char sha256[static INDEX_SHA256_BYTES])
{
	const char *text = read_text(r, key);

	if (text == NULL)
		return false;
	if (!index_is_sha256(text))
		return mistake(r->why,
		    "%s%s is not a SHA-256 (64 digits, a to f in lower case)",
		    r->where, key);
	memcpy(sha256, text, INDEX_SHA256_BYTES);
	return true;
}

static bool
read_companion(const struct reading *file, const char *key,
    struct index_companion *c)
{
	struct reading r = { .object = json_object_get(file->object, key),
		.why = file->why };

	if (r.object == NULL)
		return true;
	set_where(&r, "%s%s: ", file->where, key);
	if (!json_is_object(r.object))
		return mistake(r.why, "%sis not an object", r.where);
	return read_sha256(&r, "sha256", c->sha256) &&
	    read_number(&r, "size", 1, INDEX_COMPANION_MAX_BYTES, &c->size);
}

static bool
read_delta(const struct reading *r, struct index_file *f)
{
	struct index_delta *d = &f->delta[f->n_deltas];

	if (!json_is_object(r->object))
		return mistake(r->why, "%sis not an object", r->where);
	if (!read_sha256(r, "from", d->from) || !read_sha256(r, "to", d->to) ||
	    !read_number(r, "size", 1, INT64_MAX, &d->size))
		return false;
	if (strcmp(d->from, d->to) == 0)
		return mistake(r->why, "%sleads from a file to itself",
		    r->where);
	for (size_t i = 0; i < f->n_deltas; i++)
		if (strcmp(f->delta[i].from, d->from) == 0 &&
		    strcmp(f->delta[i].to, d->to) == 0)
			return mistake(r->why, "%sis there twice", r->where);
	f->n_deltas++;
	return true;
}

/*
 * Sets *arrayp to the member key, which must be an array of at most max; NULL
 * if there is none. False with a reason.
 */
static bool
find_array(const struct reading *r, const char *key, size_t max,
    const json_t **arrayp)
{
	*arrayp = json_object_get(r->object, key);
	if (*arrayp == NULL)
		return true;
	if (!json_is_array(*arrayp))
		return mistake(r->why, "%s%s is not an array", r->where, key);
	if (json_array_size(*arrayp) > max)
		return mistake(r->why, "%s%s has more than %zu elements",
		    r->where, key, max);
	return true;
}

static bool
read_deltas(const struct reading *file, struct index_file *f)
{
	struct reading r = { .why = file->why };
	const json_t *array;
	size_t n;

	if (!find_array(file, "deltas", INDEX_DELTAS, &array))
		return false;
	if ((n = json_array_size(array)) == 0)
		return true;
	if ((f->delta = calloc(n, sizeof(*f->delta))) == NULL)
		return mistake(r.why, "out of memory");
	for (size_t i = 0; i < n; i++) {
		r.object = json_array_get(array, i);
		set_where(&r, "%sdelta %zu: ", file->where, i + 1);
		if (!read_delta(&r, f))
			return false;
	}
	return true;
}

static bool
read_type(const struct reading *r, enum index_type *typep)
{
	const char *text = read_text(r, "type");

	if (text == NULL)
		return false;
	for (size_t i = 0; i < sizeof(type_name) / sizeof(type_name[0]); i++)
		if (strcmp(text, type_name[i]) == 0) {
			*typep = (enum index_type)i;
			return true;
		}
	return mistake(r->why,
	    "%stype is neither pkbf nor blocklist; install a newer keyveto",
	    r->where);
}

static bool
read_name(struct reading *r, const struct index *x, struct index_file *f)
{
	const char *name = read_text(r, "name");

	if (name == NULL)
		return false;
	if (!index_is_name(name))
		return mistake(r->why, "%sname is not a plain file name",
		    r->where);
	if (index_find(x, name) != NULL)
		return mistake(r->why, "%s is there twice", name);
	memcpy(f->name, name, strlen(name) + 1);
	set_where(r, "%s: ", name);
	return true;
}

/* f is the element behind the last one of x. */
static bool
read_file(struct reading *r, const struct index *x, struct index_file *f)
{
	uint64_t revision = 0;

	if (!json_is_object(r->object))
		return mistake(r->why, "%sis not an object", r->where);
	if (!read_name(r, x, f) || !read_type(r, &f->type) ||
	    !read_number(r, "size", 1, INT64_MAX, &f->size) ||
	    !read_sha256(r, "sha256", f->sha256) ||
	    !read_number(r, "packed_size", 1, INT64_MAX, &f->packed_size))
		return false;
	if (f->type == INDEX_PKBF &&
	    !read_number(r, "revision", 0, UINT32_MAX, &revision))
		return false;
	f->revision = (uint32_t)revision;
	f->dated = json_object_get(r->object, "date") != NULL;
	if (f->dated && !read_time(r, "date", &f->date))
		return false;
	if (f->type == INDEX_BLOCKLIST &&
	    (!read_companion(r, "manifest", &f->manifest) ||
		!read_companion(r, "sources", &f->sources)))
		return false;
	return read_deltas(r, f);
}

static bool
read_files(const struct reading *root, struct index *x)
{
	struct reading r = { .why = root->why };
	const json_t *array;
	size_t n;

	if (!find_array(root, "files", INDEX_FILES, &array))
		return false;
	if (array == NULL)
		return mistake(r.why, "has no files");
	if ((n = json_array_size(array)) == 0)
		return true;
	if ((x->file = calloc(n, sizeof(*x->file))) == NULL)
		return mistake(r.why, "out of memory");
	for (size_t i = 0; i < n; i++) {
		r.object = json_array_get(array, i);
		set_where(&r, "file %zu: ", i + 1);
		if (!read_file(&r, x, &x->file[i])) {
			x->n = i + 1; /* for index_free */
			return false;
		}
		x->n = i + 1;
	}
	return true;
}

static bool
read_index(const struct reading *r, struct index *x)
{
	const char *format = json_string_value(
	    json_object_get(r->object, "format"));

	if (format == NULL || strncmp(format, "keyveto-index-", 14) != 0)
		return mistake(r->why,
		    "has no format keyveto-index-1: not an index of keyveto");
	if (strcmp(format, FORMAT_KNOWN) != 0)
		return mistake(r->why,
		    "is in a format that this keyveto does not know; "
		    "install a newer keyveto");
	if (!read_number(r, "serial", 1, INDEX_SERIAL_MAX, &x->serial) ||
	    !read_time(r, "date", &x->date) ||
	    !read_time(r, "expires", &x->expires))
		return false;
	if (x->expires < x->date)
		return mistake(r->why, "expires before its date");
	return read_files(r, x);
}

bool
index_parse(const char *text, size_t len, struct index *x,
    char why[static INDEX_WHY_BYTES])
{
	struct reading r = { .why = why };
	json_error_t error;
	json_t *root;
	bool ok;

	*x = (struct index){ .serial = 0 };
	why[0] = '\0';
	if (len > INDEX_MAX_BYTES)
		return mistake(why, "is larger than %d bytes", INDEX_MAX_BYTES);
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		return mistake(why, "not JSON: line %d: %s", error.line,
		    error.text);
	r.object = root;
	ok = read_index(&r, x);
	json_decref(root);
	return ok;
}

/* --- formatting --------------------------------------------------------- */

/*
 * json_object_set_new and json_array_append_new free the value, and refuse
 * NULL: so they find what ran out of memory.
 */

/* Adds value, if it is wanted. The object, or NULL without memory. */
static json_t *
with(json_t *object, bool wanted, const char *key, json_t *value)
{
	if (!wanted)
		json_decref(value);
	else if (json_object_set_new(object, key, value) != 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *
time_text(int64_t when)
{
	char text[INDEX_TIME_BYTES];

	(void)index_format_time(when, text);
	return json_string(text);
}

static json_t *
companion_object(const struct index_companion *c)
{
	return json_pack("{s:s, s:I}", "sha256", c->sha256, "size",
	    (json_int_t)c->size);
}

/* Appends an object. The array, or NULL without memory. */
static json_t *
append(json_t *array, json_t *object)
{
	if (json_array_append_new(array, object) == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *
file_object(const struct index_file *f)
{
	json_t *deltas = json_array(), *object;

	for (size_t i = 0; i < f->n_deltas; i++)
		deltas = append(deltas,
		    json_pack("{s:s, s:s, s:I}", "from", f->delta[i].from, "to",
			f->delta[i].to, "size", (json_int_t)f->delta[i].size));
	object = json_pack("{s:s, s:s, s:I, s:s, s:I}", "name", f->name, "type",
	    type_name[f->type], "size", (json_int_t)f->size, "sha256",
	    f->sha256, "packed_size", (json_int_t)f->packed_size);
	object = with(object, f->type == INDEX_PKBF, "revision",
	    json_integer(f->revision));
	object = with(object, f->dated, "date", time_text(f->date));
	object = with(object, f->manifest.sha256[0] != '\0', "manifest",
	    companion_object(&f->manifest));
	object = with(object, f->sources.sha256[0] != '\0', "sources",
	    companion_object(&f->sources));
	return with(object, true, "deltas", deltas);
}

char *
index_format(const struct index *x, size_t *lenp)
{
	json_t *files = json_array(), *root;
	char *text = NULL;

	*lenp = 0;
	for (size_t i = 0; i < x->n; i++)
		files = append(files, file_object(&x->file[i]));
	root = json_pack("{s:s, s:I, s:o, s:o, s:o}", "format", FORMAT_KNOWN,
	    "serial", (json_int_t)x->serial, "date", time_text(x->date),
	    "expires", time_text(x->expires), "files", files);
	if (root != NULL)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	if (text != NULL) {
		/* The line end takes the place of the NUL. */
		*lenp = strlen(text) + 1;
		text[*lenp - 1] = '\n';
	}
	return text;
}
