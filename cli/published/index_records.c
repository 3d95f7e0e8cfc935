/* SPDX-License-Identifier: ISC */
#include "published/index_records.h"

#include <stdlib.h>
#include <string.h>

/* --- adding ------------------------------------------------------------- */

void
index_add_head(struct record_out *o, const struct index *x)
{
	record_add_number(o, x->serial);
	record_add_number(o, (uint64_t)x->date);
	record_add_number(o, (uint64_t)x->expires);
	record_add_number(o, x->n);
}

static void
add_companion(struct record_out *o, const struct index_companion *c)
{
	record_add_text(o, c->sha256);
	record_add_number(o, c->size);
}

void
index_add_file(struct record_out *o, const struct index_file *f)
{
	record_add_text(o, f->name);
	record_add_number(o, f->type);
	record_add_number(o, f->size);
	record_add_text(o, f->sha256);
	record_add_number(o, f->packed_size);
	record_add_number(o, f->revision);
	record_add_number(o, f->dated);
	record_add_number(o, (uint64_t)f->date);
	add_companion(o, &f->manifest);
	add_companion(o, &f->sources);
	record_add_number(o, f->n_deltas);
	for (size_t i = 0; i < f->n_deltas; i++) {
		record_add_text(o, f->delta[i].from);
		record_add_text(o, f->delta[i].to);
		record_add_number(o, f->delta[i].size);
	}
}

/* --- getting ------------------------------------------------------------ */

static bool
get_number(struct kv_bytes *b, uint64_t min, uint64_t max, uint64_t *np)
{
	return record_get_number(b, np) && *np >= min && *np <= max;
}

static bool
get_time(struct kv_bytes *b, int64_t *timep)
{
	char text[INDEX_TIME_BYTES];
	uint64_t n;

	if (!get_number(b, 0, INT64_MAX, &n))
		return false;
	*timep = (int64_t)n;
	return index_format_time(*timep, text);
}

static bool
get_sha256(struct kv_bytes *b, char sha256[static INDEX_SHA256_BYTES])
{
	return record_get_text(b, sha256, INDEX_SHA256_BYTES) &&
	    index_is_sha256(sha256);
}

bool
index_get_head(struct kv_bytes b, struct index *x, size_t *np)
{
	uint64_t n;

	*x = (struct index){ .serial = 0 };
	*np = 0;
	if (!get_number(&b, 1, INDEX_SERIAL_MAX, &x->serial) ||
	    !get_time(&b, &x->date) || !get_time(&b, &x->expires) ||
	    x->expires < x->date || !get_number(&b, 0, INDEX_FILES, &n) ||
	    b.left != 0)
		return false;
	*np = (size_t)n;
	return n == 0 || (x->file = calloc(*np, sizeof(*x->file))) != NULL;
}

/* Only a list has companions. */
static bool
get_companion(struct kv_bytes *b, const struct index_file *f,
    struct index_companion *c)
{
	if (!record_get_text(b, c->sha256, sizeof(c->sha256)))
		return false;
	if (c->sha256[0] == '\0')
		return get_number(b, 0, 0, &c->size);
	return f->type == INDEX_BLOCKLIST && index_is_sha256(c->sha256) &&
	    get_number(b, 1, INDEX_COMPANION_MAX_BYTES, &c->size);
}

static bool
get_delta(struct kv_bytes *b, struct index_file *f)
{
	struct index_delta *d = &f->delta[f->n_deltas];

	if (!get_sha256(b, d->from) || !get_sha256(b, d->to) ||
	    strcmp(d->from, d->to) == 0 ||
	    !get_number(b, 1, INT64_MAX, &d->size))
		return false;
	for (size_t i = 0; i < f->n_deltas; i++)
		if (strcmp(f->delta[i].from, d->from) == 0 &&
		    strcmp(f->delta[i].to, d->to) == 0)
			return false;
	f->n_deltas++;
	return true;
}

static bool
get_deltas(struct kv_bytes *b, struct index_file *f)
{
	uint64_t n;
	bool ok = get_number(b, 0, INDEX_DELTAS, &n);

	if (!ok || n == 0)
		return ok;
	if ((f->delta = calloc((size_t)n, sizeof(*f->delta))) == NULL)
		return false;
	for (uint64_t i = 0; ok && i < n; i++)
		ok = get_delta(b, f);
	return ok;
}

static bool
get_kind(struct kv_bytes *b, struct index_file *f)
{
	uint64_t type;
	const bool ok = get_number(b, 0, INDEX_BLOCKLIST, &type);

	f->type = ok ? (enum index_type)type : INDEX_PKBF;
	return ok;
}

/* Only a filter has a revision. */
static bool
get_age(struct kv_bytes *b, struct index_file *f)
{
	const uint64_t max = f->type == INDEX_PKBF ? UINT32_MAX : 0;
	uint64_t revision, dated;

	if (!get_number(b, 0, max, &revision) || !get_number(b, 0, 1, &dated) ||
	    !get_time(b, &f->date) || (dated == 0 && f->date != 0))
		return false;
	f->revision = (uint32_t)revision;
	f->dated = dated != 0;
	return true;
}

bool
index_get_file(struct kv_bytes b, struct index *x, size_t n)
{
	struct index_file f = { .n_deltas = 0 };

	if (x->n < n && record_get_text(&b, f.name, sizeof(f.name)) &&
	    index_is_name(f.name) && index_find(x, f.name) == NULL &&
	    get_kind(&b, &f) && get_number(&b, 1, INT64_MAX, &f.size) &&
	    get_sha256(&b, f.sha256) &&
	    get_number(&b, 1, INT64_MAX, &f.packed_size) && get_age(&b, &f) &&
	    get_companion(&b, &f, &f.manifest) &&
	    get_companion(&b, &f, &f.sources) && get_deltas(&b, &f) &&
	    b.left == 0) {
		x->file[x->n++] = f;
		return true;
	}
	free(f.delta);
	return false;
}
