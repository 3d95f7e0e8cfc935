/* SPDX-License-Identifier: ISC */
#include "weak/weak.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "command.h"
#include "weak/moduli.h"

/*
 * For one account: the cost of a test for being prime grows with the third power
 * of the size. 9 units are a modulus of 2048 bits, and a millisecond or two.
 */
#define UNITS_MAX 16384
/* For one account: moduli that are kept, in bytes. */
#define KEPT_MAX ((size_t)8 * 1024 * 1024)
/* kv_nosecret or nothing at all makes use of a smaller one. */
#define MODULUS_BYTES_MIN 3

/* A key that was kept. The strings are in text, one behind the other. */
struct kept {
	size_t modulus; /* its index */
	const char *path;
	struct weak_place place;
	uint64_t line;
	enum kv_part part;
	unsigned int bits;
	const char *type;
	struct kv_span exponent, comment;
	uint8_t *text;
};

/* The first key of an account that was not tested for all. */
struct limit {
	const char *path;
	uint64_t line;
};

struct weak {
	bool (*test)(struct weak_tests *t);
	struct moduli moduli;
	struct kept *kept;
	size_t n;
	char **string; /* paths and accounts, each once in a row */
	size_t n_strings;
	const char *path, *account; /* the last ones, in string */
	/* Of the last account. */
	uint64_t units;
	size_t bytes;
	bool limited;
	struct limit *limit;
	size_t n_limits;
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

static void
make_room(void *list, size_t n, size_t size)
{
	if (!room_for_one(list, n, size))
		(void)checked(NULL);
}

struct weak *
weak_new(bool (*test)(struct weak_tests *t))
{
	struct weak *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->test = test;
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
	free(w);
}

/* Returns a copy of s that lives as long as w; last, if that is one. */
static const char *
copy_string(struct weak *w, const char *s, const char *last)
{
	if (s == NULL || (last != NULL && strcmp(s, last) == 0))
		return s == NULL ? NULL : last;
	make_room(&w->string, w->n_strings, sizeof(*w->string));
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
	make_room(&w->limit, w->n_limits, sizeof(*w->limit));
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
	if (added)
		w->bytes += n.len;
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

	make_room(&w->kept, w->n, sizeof(*w->kept));
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
	p = k->text = checked(malloc(e.len + key->comment.len + 1));
	k->exponent = copy_span(&p, e);
	k->comment = copy_span(&p, key->comment);
}

bool
weak_add(struct weak *w, const struct input_key *key,
    const struct weak_place *place)
{
	struct modulus *m;
	size_t i;

	if (key->key.type != KV_KEY_RSA)
		return false;
	set_place(w, key, place->account);
	i = note_modulus(w, key);
	if (i != SIZE_MAX) {
		m = &w->moduli.v[i];
		if (!m->is_open)
			m->is_open = may_spend(w, key);
		keep(w, key, place, i);
	}
	return i != SIZE_MAX;
}

static bool
has_long_exponent(struct kv_span e)
{
	return e.len > WEAK_EXPONENT_BYTES;
}

bool
weak_test_alone(const struct input_key *key, bool (*test)(struct weak_tests *t),
    enum weak_class *classp, char why[static WEAK_WHY_BYTES])
{
	const struct kv_span n = key->key.field[1], e = key->key.field[0];
	struct modulus modulus = { .n = n, .is_open = true };
	struct weak_exponent exponent = { .e = e };
	struct weak_tests t = {
		.modulus = &modulus,
		.n = 1,
		.exponent = &exponent,
		.n_exponents = has_long_exponent(e) ? 1 : 0,
		.threads = 1,
	};

	*classp = WEAK_NONE;
	if (key->key.type != KV_KEY_RSA || n.len < MODULUS_BYTES_MIN)
		return true;
	if (!test(&t)) {
		memcpy(why, t.why, WEAK_WHY_BYTES);
		return false;
	}
	*classp = exponent.class != WEAK_NONE ? exponent.class : modulus.class;
	return true;
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

/* Gives found one of the keys that were kept; alone: what it has of its own. */
static void
tell_found(const struct weak *w, const struct kept *k, enum weak_class alone,
    void (*found)(const struct weak_found *f, void *arg), void *arg)
{
	const struct modulus *m = &w->moduli.v[k->modulus];
	const struct input_key key = {
		.path = k->path,
		.line = k->line,
		.part = k->part,
		.key = { .type = KV_KEY_RSA, .field = { k->exponent, m->n } },
		.type = k->type,
		.bits = k->bits,
		.comment = k->comment,
	};
	const struct weak_found f = {
		.key = &key,
		.place = k->place,
		.class = alone != WEAK_NONE ? alone : m->class,
	};

	found(&f, arg);
}

/* Lists the long exponents, in the order of the keys. */
static void
list_exponents(const struct weak *w, struct weak_tests *t)
{
	t->exponent = checked(calloc(w->n + 1, sizeof(*t->exponent)));
	for (size_t i = 0; i < w->n; i++)
		if (has_long_exponent(w->kept[i].exponent))
			t->exponent[t->n_exponents++] = (struct weak_exponent){
				.modulus = w->kept[i].modulus,
				.e = w->kept[i].exponent,
			};
}

static void
tell_all(const struct weak *w, const struct weak_tests *t,
    void (*found)(const struct weak_found *f, void *arg), void *arg)
{
	size_t x = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct kept *k = &w->kept[i];

		tell_found(w, k,
		    has_long_exponent(k->exponent) ? t->exponent[x++].class :
						     WEAK_NONE,
		    found, arg);
	}
}

bool
weak_finish(struct weak *w, size_t threads, bool progress,
    void (*found)(const struct weak_found *f, void *arg), void *arg)
{
	struct weak_tests t = {
		.modulus = w->moduli.v,
		.n = w->moduli.n,
		.threads = threads,
		.progress = progress,
	};
	bool ok;

	if (w->n == 0)
		return true;
	qsort(w->kept, w->n, sizeof(*w->kept), compare_kept);
	list_exponents(w, &t);
	ok = w->test(&t);
	if (ok)
		tell_all(w, &t, found, arg);
	else
		cli_error("the moduli cannot be tested: %s", t.why);
	free(t.exponent);
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
