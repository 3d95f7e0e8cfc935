/* SPDX-License-Identifier: ISC */
#include "published/index_records.h"

#include <stdlib.h>
#include <string.h>

/* Each list of fields is of what is written and of what is read. */
#define HEAD_FIELDS(x, n) \
	R_RANGE((x)->serial, 1, INDEX_SERIAL_MAX), \
	    R_NUMBER((x)->date, INT64_MAX), R_NUMBER((x)->expires, INT64_MAX), \
	    R_NUMBER(n, INDEX_FILES)
#define COMPANION_FIELDS(c) \
	R_TEXT((c).sha256), R_NUMBER((c).size, INDEX_COMPANION_MAX_BYTES)
#define FILE_FIELDS(f, n) \
	R_TEXT((f)->name), R_NUMBER((f)->type, INDEX_BLOCKLIST), \
	    R_RANGE((f)->size, 1, INT64_MAX), R_TEXT((f)->sha256), \
	    R_RANGE((f)->packed_size, 1, INT64_MAX), \
	    R_NUMBER((f)->revision, UINT32_MAX), R_FLAG((f)->dated), \
	    R_NUMBER((f)->date, INT64_MAX), COMPANION_FIELDS((f)->manifest), \
	    COMPANION_FIELDS((f)->sources), R_NUMBER(n, INDEX_DELTAS)
#define DELTA_FIELDS(d) \
	R_TEXT((d)->from), R_TEXT((d)->to), R_RANGE((d)->size, 1, INT64_MAX)

/* --- adding ------------------------------------------------------------- */

void
index_add_head(struct record_out *o, const struct index *x)
{
	record_add(o, HEAD_FIELDS(x, x->n));
}

void
index_add_file(struct record_out *o, const struct index_file *f)
{
	record_add(o, FILE_FIELDS(f, f->n_deltas));
	for (size_t i = 0; i < f->n_deltas; i++)
		record_add(o, DELTA_FIELDS(&f->delta[i]));
}

/* --- getting ------------------------------------------------------------ */

static bool
is_time(int64_t time)
{
	char text[INDEX_TIME_BYTES];

	return index_format_time(time, text);
}

bool
index_get_head(struct kv_bytes b, struct index *x, size_t *np)
{
	*x = (struct index){ .serial = 0 };
	*np = 0;
	return record_get_all(&b, HEAD_FIELDS(x, *np)) && is_time(x->date) &&
	    is_time(x->expires) && x->expires >= x->date &&
	    (*np == 0 || (x->file = calloc(*np, sizeof(*x->file))) != NULL);
}

/* Only a list has companions. */
static bool
is_companion(const struct index_file *f, const struct index_companion *c)
{
	if (c->sha256[0] == '\0')
		return c->size == 0;
	return f->type == INDEX_BLOCKLIST && index_is_sha256(c->sha256) &&
	    c->size > 0;
}

static bool
get_delta(struct kv_bytes *b, struct index_file *f)
{
	struct index_delta *d = &f->delta[f->n_deltas];

	if (!record_get(b, DELTA_FIELDS(d)) || !index_is_sha256(d->from) ||
	    !index_is_sha256(d->to) || strcmp(d->from, d->to) == 0)
		return false;
	for (size_t i = 0; i < f->n_deltas; i++)
		if (strcmp(f->delta[i].from, d->from) == 0 &&
		    strcmp(f->delta[i].to, d->to) == 0)
			return false;
	f->n_deltas++;
	return true;
}

static bool
get_deltas(struct kv_bytes *b, struct index_file *f, size_t n)
{
	bool ok = n == 0 || (f->delta = calloc(n, sizeof(*f->delta))) != NULL;

	for (size_t i = 0; ok && i < n; i++)
		ok = get_delta(b, f);
	return ok;
}

/* Only a filter has a revision. */
static bool
is_file(const struct index_file *f)
{
	return index_is_name(f->name) && index_is_sha256(f->sha256) &&
	    (f->type == INDEX_PKBF || f->revision == 0) && is_time(f->date) &&
	    (f->dated || f->date == 0) && is_companion(f, &f->manifest) &&
	    is_companion(f, &f->sources);
}

bool
index_get_file(struct kv_bytes b, struct index *x, size_t n)
{
	struct index_file f = { .n_deltas = 0 };
	size_t deltas;

	if (x->n < n && record_get(&b, FILE_FIELDS(&f, deltas)) &&
	    is_file(&f) && index_find(x, f.name) == NULL &&
	    get_deltas(&b, &f, deltas) && b.left == 0) {
		x->file[x->n++] = f;
		return true;
	}
	free(f.delta);
	return false;
}
