/* SPDX-License-Identifier: ISC */
#include "weak/weak.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "base/progress.h"
#include "weak/common.h"
#include "weak/moduli.h"
#include "weak/parallel.h"

/*
 * For one account: the cost of a test for being prime grows with the third power
 * of the size. 9 units are a modulus of 2048 bits, and a millisecond or two.
 */
#define UNITS_MAX 16384
/* For one account: moduli that are kept, in bytes. */
#define KEPT_MAX ((size_t)8 * 1024 * 1024)
/* kv_nosecret or nothing at all makes use of a smaller one. */
#define MODULUS_BYTES_MIN 3
/* An exponent of more bytes may have a private half of its own. */
#define EXPONENT_BYTES 4

#define REASON_BYTES 4400

/* A key that was kept. The strings are in text, one behind the other. */
struct kept {
	size_t modulus; /* its index */
	const char *path;
	struct weak_place place;
	uint64_t line;
	enum kv_part part;
	unsigned int bits;
	const char *type;
	struct kv_span exponent, comment, name, dn;
	uint8_t *text;
};

/* The first key of an account that was not tested for all. */
struct limit {
	const char *path;
	uint64_t line;
};

struct weak {
	pthread_mutex_t lock;
	struct moduli moduli;
	struct kept *kept;
	size_t n, cap;
	char **string; /* paths and accounts, each once in a row */
	size_t n_strings, cap_strings;
	const char *path, *account; /* the last ones, in string */
	/* Of the last account. */
	uint64_t units;
	size_t bytes;
	bool limited;
	struct limit *limit;
	size_t n_limits;
};

/* Steps of weak_finish. */
struct finish {
	struct weak *w;
	struct progress progress;
	pthread_mutex_t lock; /* of progress */
};

static void *
checked(void *p)
{
	if (p == NULL) {
		cli_error("%s", strerror(ENOMEM));
		exit(CLI_UNCHECKED);
	}
	return p;
}

struct weak *
weak_new(void)
{
	struct weak *w = calloc(1, sizeof(*w));

	if (w != NULL)
		pthread_mutex_init(&w->lock, NULL);
	return w;
}

void
weak_free(struct weak *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->n; i++)
		free(w->kept[i].text);
	for (size_t i = 0; i < w->n_strings; i++)
		free(w->string[i]);
	free(w->kept);
	free(w->string);
	free(w->limit);
	moduli_free(&w->moduli);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Returns a copy of s that lives as long as w; last, if that is one. */
static const char *
copy_string(struct weak *w, const char *s, const char *last)
{
	if (s == NULL || (last != NULL && strcmp(s, last) == 0))
		return s == NULL ? NULL : last;
	if (w->n_strings == w->cap_strings) {
		w->cap_strings = w->cap_strings > 0 ? 2 * w->cap_strings : 64;
		w->string = checked(reallocarray(w->string, w->cap_strings,
		    sizeof(*w->string)));
	}
	w->string[w->n_strings] = checked(strdup(s));
	return w->string[w->n_strings++];
}

/* Notes where the keys are that come now. */
static void
set_place(struct weak *w, const struct input_key *key, const char *account)
{
	const char *last = w->account;

	w->path = copy_string(w, key->path, w->path);
	w->account = copy_string(w, account, last);
	if (w->account == last)
		return;
	w->units = 0;
	w->bytes = 0;
	w->limited = false;
}

static void
note_limit(struct weak *w, const struct input_key *key)
{
	if (w->limited)
		return;
	w->limited = true;
	w->limit = checked(
	    reallocarray(w->limit, w->n_limits + 1, sizeof(*w->limit)));
	w->limit[w->n_limits++] = (struct limit){ w->path, key->line };
}

/* Whether the account has not had its share of time. */
static bool
may_spend(struct weak *w, const struct input_key *key)
{
	const uint64_t k = (key->bits + 255) / 256;

	if (w->account == NULL || key->bits > WEAK_PRIME_BITS)
		return true;
	w->units += k * k * k / 64 + 1;
	if (w->units <= UNITS_MAX)
		return true;
	note_limit(w, key);
	return false;
}

/*
 * Returns the index of the key's modulus, or SIZE_MAX if it is not kept: it is
 * tiny, or the account has had its share.
 */
static size_t
note_modulus(struct weak *w, const struct input_key *key)
{
	const struct kv_span n = key->key.field[1];
	size_t i = SIZE_MAX;
	bool added;

	if (n.len < MODULUS_BYTES_MIN)
		return SIZE_MAX;
	if (w->account != NULL && w->bytes + n.len > KEPT_MAX) {
		note_limit(w, key);
		return SIZE_MAX;
	}
	if (!moduli_add(&w->moduli, n, &i, &added))
		(void)checked(NULL);
	if (added) {
		w->moduli.v[i].path = w->path;
		w->moduli.v[i].line = key->line;
		w->bytes += n.len;
	}
	return i;
}

/* Copies a span to *p, moves *p past it, and returns the copy. */
static struct kv_span
copy_span(uint8_t **p, struct kv_span s)
{
	const struct kv_span copy = { *p, s.len };

	if (s.len > 0)
		memcpy(*p, s.p, s.len);
	*p += s.len;
	return copy;
}

static void
keep(struct weak *w, const struct input_key *key,
    const struct weak_place *place, size_t modulus)
{
	const struct kv_span e = key->key.field[0];
	struct kept *k;
	uint8_t *p;

	if (w->n == w->cap) {
		w->cap = w->cap > 0 ? 2 * w->cap : 64;
		w->kept = checked(
		    reallocarray(w->kept, w->cap, sizeof(*w->kept)));
	}
	k = &w->kept[w->n++];
	*k = (struct kept){
		.modulus = modulus,
		.path = w->path,
		.place = *place,
		.line = key->line,
		.part = key->part,
		.bits = key->bits,
		.type = kv_keytype_name(KV_KEY_RSA),
	};
	k->place.account = w->account;
	p = k->text = checked(malloc(e.len + key->comment.len +
	    key->owner.name.len + key->owner.dn.len + 1));
	k->exponent = copy_span(&p, e);
	k->comment = copy_span(&p, key->comment);
	k->name = copy_span(&p, key->owner.name);
	k->dn = copy_span(&p, key->owner.dn);
}

void
weak_note(struct weak *w, const struct input_key *key,
    const struct weak_place *place)
{
	if (key->key.type != KV_KEY_RSA)
		return;
	pthread_mutex_lock(&w->lock);
	set_place(w, key, place->account);
	(void)note_modulus(w, key);
	pthread_mutex_unlock(&w->lock);
}

/* Notes what weak_rsa_find said of a key. Returns whether the key is kept. */
static bool
note_class(struct weak *w, const struct input_key *key,
    const struct weak_place *place, size_t i, enum weak_class class)
{
	struct modulus *m = &w->moduli.v[i];

	if (class == WEAK_NONE && !m->is_open)
		m->is_open = may_spend(w, key);
	if (key->key.field[0].len <= EXPONENT_BYTES) {
		m->class = class;
		m->tested = true;
	}
	if (class == WEAK_NONE)
		keep(w, key, place, i);
	return class == WEAK_NONE;
}

enum weak_class
weak_test(struct weak *w, const struct input_key *key,
    const struct weak_place *place, bool *keptp)
{
	const struct kv_span e = key->key.field[0];
	enum weak_class class = WEAK_NONE;
	bool known;
	size_t i;

	*keptp = false;
	if (key->key.type != KV_KEY_RSA)
		return WEAK_NONE;
	pthread_mutex_lock(&w->lock);
	set_place(w, key, place->account);
	i = note_modulus(w, key);
	known = i != SIZE_MAX && w->moduli.v[i].tested &&
	    e.len <= EXPONENT_BYTES;
	if (known)
		class = w->moduli.v[i].class;
	pthread_mutex_unlock(&w->lock);
	if (!known)
		class = weak_rsa_find(key->key.field[1], e);
	if (i == SIZE_MAX)
		return class;
	pthread_mutex_lock(&w->lock);
	set_place(w, key, place->account);
	*keptp = note_class(w, key, place, i, class);
	pthread_mutex_unlock(&w->lock);
	return class;
}

static void
ignore_steps(size_t steps, void *arg)
{
	(void)steps;
	(void)arg;
}

enum weak_class
weak_find_alone(const struct input_key *key)
{
	const struct kv_span n = key->key.field[1];
	struct weak_common common;
	enum weak_class class;

	if (key->key.type != KV_KEY_RSA || n.len < MODULUS_BYTES_MIN)
		return WEAK_NONE;
	class = weak_rsa_find(n, key->key.field[0]);
	if (class == WEAK_NONE && weak_is_prime(n))
		class = WEAK_PRIME;
	if (class != WEAK_NONE)
		return class;
	if (!weak_common_find(&n, 1, 1, &common, ignore_steps, NULL))
		(void)checked(NULL);
	return common.class;
}

static int
compare_kept(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;
	const int order = strcmp(x->path, y->path);

	if (order != 0)
		return order;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (int)x->part - (int)y->part;
}

static void
add_progress(size_t steps, void *arg)
{
	struct finish *f = arg;

	pthread_mutex_lock(&f->lock);
	progress_add(&f->progress, steps);
	pthread_mutex_unlock(&f->lock);
}

static void
test_prime(size_t i, void *arg)
{
	const struct finish *f = arg;
	struct modulus *m = &f->w->moduli.v[i];

	if (m->is_open && weak_is_prime(m->n))
		m->class = WEAK_PRIME;
	add_progress(1, arg);
}

static void
begin_progress(struct finish *f, const char *what, size_t steps, bool show)
{
	progress_start_things(&f->progress, what, steps);
	f->progress.shown &= show;
}

/* Sets common for each modulus. False without memory. */
static bool
test_all(struct finish *f, size_t threads, bool progress,
    struct weak_common *common)
{
	const struct moduli *m = &f->w->moduli;
	struct kv_span *span = calloc(m->n + 1, sizeof(*span));
	bool ok = span != NULL;

	begin_progress(f, "testing moduli", m->n, progress);
	parallel_run(threads, m->n, test_prime, f);
	progress_clear(&f->progress);
	for (size_t i = 0; ok && i < m->n; i++)
		span[i] = m->v[i].n;
	begin_progress(f, "comparing moduli", weak_common_steps(m->n),
	    progress);
	ok = ok &&
	    weak_common_find(span, m->n, threads, common, add_progress, f);
	progress_clear(&f->progress);
	free(span);
	return ok;
}

/* Names the key that has one of the primes. */
static void
describe(const struct weak *w, const struct weak_common *common,
    char reason[static REASON_BYTES])
{
	const struct modulus *m;

	reason[0] = '\0';
	if (common->class != WEAK_SHARED_PRIME)
		return;
	if (common->other == WEAK_COMMON_UNKNOWN) {
		snprintf(reason, REASON_BYTES,
		    "other keys of this run have its primes");
		return;
	}
	m = &w->moduli.v[common->other];
	snprintf(reason, REASON_BYTES, "%.4095s:%" PRIu64 " has the same prime",
	    m->path, m->line);
}

/* Gives found one of the keys that were kept. */
static void
tell_found(const struct weak *w, const struct kept *k,
    const struct weak_common *common,
    void (*found)(const struct weak_found *f, void *arg), void *arg)
{
	const struct modulus *m = &w->moduli.v[k->modulus];
	char reason[REASON_BYTES];
	const struct input_key key = {
		.path = k->path,
		.line = k->line,
		.part = k->part,
		.key = { .type = KV_KEY_RSA, .field = { k->exponent, m->n } },
		.type = k->type,
		.bits = k->bits,
		.comment = k->comment,
		.owner = { k->name, k->dn },
	};
	const struct weak_found f = {
		.key = &key,
		.place = k->place,
		.class = m->class != WEAK_NONE ? m->class : common->class,
		.reason = reason,
	};

	describe(w, common, reason);
	found(&f, arg);
}

bool
weak_finish(struct weak *w, size_t threads, bool progress,
    void (*found)(const struct weak_found *f, void *arg), void *arg)
{
	struct weak_common *common = calloc(w->moduli.n + 1, sizeof(*common));
	struct finish f = { .w = w };
	bool ok;

	pthread_mutex_init(&f.lock, NULL);
	ok = common != NULL && test_all(&f, threads, progress, common);
	if (!ok)
		cli_error("the moduli cannot be compared: %s",
		    strerror(ENOMEM));
	if (w->n > 0)
		qsort(w->kept, w->n, sizeof(*w->kept), compare_kept);
	for (size_t i = 0; ok && i < w->n; i++)
		tell_found(w, &w->kept[i], &common[w->kept[i].modulus], found,
		    arg);
	pthread_mutex_destroy(&f.lock);
	free(common);
	return ok;
}

void
weak_each_limited(const struct weak *w,
    void (*problem)(const struct input_problem *p, void *arg), void *arg)
{
	for (size_t i = 0; i < w->n_limits; i++) {
		const struct input_problem p = {
			.path = w->limit[i].path,
			.line = w->limit[i].line,
			.reason = "this account has more RSA keys than are "
				  "tested for primes",
		};

		problem(&p, arg);
	}
}
