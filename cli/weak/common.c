/* SPDX-License-Identifier: ISC */
#include "weak/common.h"

#include <gmp.h>
#include <malloc.h>
#include <stdlib.h>

#include "weak/parallel.h"

/* 2^32 moduli are more than any memory holds. */
#define LEVELS_MAX 33
/*
 * Greatest common divisors of two moduli, each some microseconds, that are
 * computed to name the other modulus where both primes of one are shared.
 */
#define PAIRS_MAX 1000000
#define LARGE_BYTES (128 * 1024)

/*
 * A level of the tree. product[i] is that of two neighbours on the level below,
 * or of the one that has no neighbour. Level 0 has the moduli.
 */
struct level {
	mpz_t *product;
	size_t n;
};

struct tree {
	struct level level[LEVELS_MAX];
	size_t n_levels, threads;
	/*
	 * On the way up, of the last level: sum[i] is the sum of product[i] / m
	 * over all moduli m below it. On the way down: the sum of the whole tree,
	 * modulo product[i].
	 */
	mpz_t *sum, *next;
	mpz_t small; /* the product of the primes below WEAK_FACTOR_BELOW */
	void (*done)(size_t steps, void *arg);
	void *arg;
};

static mpz_t *
new_numbers(size_t n)
{
	mpz_t *v = calloc(n, sizeof(*v));

	for (size_t i = 0; v != NULL && i < n; i++)
		mpz_init(v[i]);
	return v;
}

static void
free_numbers(mpz_t *v, size_t n)
{
	for (size_t i = 0; v != NULL && i < n; i++)
		mpz_clear(v[i]);
	free(v);
}

static size_t
halved(size_t n)
{
	return (n + 1) / 2;
}

/* Imports the moduli. False without memory. */
static bool
plant(struct tree *t, const struct kv_span *modulus, size_t n)
{
	struct level *leaves = &t->level[0];

	leaves->product = new_numbers(n);
	t->sum = new_numbers(n);
	if (leaves->product == NULL || t->sum == NULL)
		return false;
	leaves->n = n;
	t->n_levels = 1;
	for (size_t i = 0; i < n; i++) {
		mpz_import(leaves->product[i], modulus[i].len, 1, 1, 1, 0,
		    modulus[i].p);
		mpz_set_ui(t->sum[i], 1);
	}
	return true;
}

static void
multiply(size_t i, void *arg)
{
	struct tree *t = arg;
	const struct level *below = &t->level[t->n_levels - 1];
	const size_t left = 2 * i, right = left + 1;
	mpz_t *product = below[1].product;

	if (right == below->n)
		mpz_set(product[i], below->product[left]);
	else
		mpz_mul(product[i], below->product[left],
		    below->product[right]);
}

static void
add_up(size_t i, void *arg)
{
	struct tree *t = arg;
	const struct level *below = &t->level[t->n_levels - 1];
	const size_t left = 2 * i, right = left + 1;

	if (right == below->n) {
		mpz_swap(t->next[i], t->sum[left]);
		return;
	}
	mpz_mul(t->next[i], t->sum[left], below->product[right]);
	mpz_addmul(t->next[i], t->sum[right], below->product[left]);
}

/*
 * Makes the next level. The products come first, so that the sums, which do not
 * stay, leave no holes between them. False without memory.
 */
static bool
climb(struct tree *t)
{
	struct level *below = &t->level[t->n_levels - 1], *here = below + 1;
	const size_t n = halved(below->n);

	here->product = new_numbers(n);
	here->n = n;
	t->next = new_numbers(n);
	if (here->product == NULL || t->next == NULL) {
		free_numbers(here->product, n);
		free_numbers(t->next, n);
		return false;
	}
	parallel_run(t->threads, n, multiply, t);
	parallel_run(t->threads, n, add_up, t);
	free_numbers(t->sum, below->n);
	t->sum = t->next;
	t->n_levels++;
	t->done(n, t->arg);
	return true;
}

/*
 * Turns the sums of two halves of the tree into that of the whole, modulo their
 * products: the other half's part is a multiple of the product.
 */
static void
cross(size_t i, void *arg)
{
	struct tree *t = arg;
	mpz_t *product = t->level[t->n_levels - 1].product;

	mpz_mul(t->sum[i], t->sum[i], product[1 - i]);
	mpz_mod(t->sum[i], t->sum[i], product[i]);
}

/* next[i] is for the level below the last one. */
static void
divide(size_t i, void *arg)
{
	struct tree *t = arg;

	mpz_mod(t->next[i], t->sum[i / 2],
	    t->level[t->n_levels - 2].product[i]);
}

/* Takes the last level away. False without memory. */
static bool
descend(struct tree *t)
{
	struct level *here = &t->level[t->n_levels - 1], *below = here - 1;

	free_numbers(here->product, here->n);
	here->product = NULL;
	t->next = new_numbers(below->n);
	if (t->next == NULL) {
		free_numbers(t->sum, here->n);
		t->sum = NULL;
		t->n_levels--;
		return false;
	}
	parallel_run(t->threads, below->n, divide, t);
	free_numbers(t->sum, here->n);
	t->sum = t->next;
	t->n_levels--;
	t->done(below->n, t->arg);
	return true;
}

/*
 * Sets sum[i] to what modulus i has in common with the others or the small
 * primes. With S the sum of N / m over all moduli m, N their product, S modulo
 * m is N / m modulo m: each other term is a multiple of m.
 */
static void
find_divisor(size_t i, void *arg)
{
	struct tree *t = arg;

	mpz_gcd(t->sum[i], t->sum[i], t->level[0].product[i]);
}

static bool
find_divisors(struct tree *t)
{
	while (t->level[t->n_levels - 1].n > 2)
		if (!climb(t))
			return false;
	for (size_t i = 0; i < t->level[t->n_levels - 1].n; i++)
		mpz_mul(t->sum[i], t->sum[i], t->small);
	if (t->level[t->n_levels - 1].n == 2)
		parallel_run(t->threads, 2, cross, t);
	while (t->n_levels > 1)
		if (!descend(t))
			return false;
	parallel_run(t->threads, t->level[0].n, find_divisor, t);
	return true;
}

/* --- which other modulus ------------------------------------------------ */

/* A prime, or another divisor, that modulus i shares. */
struct divisor {
	mpz_t p;
	size_t i;
};

struct divisors {
	struct divisor *v;
	size_t n;
	uint64_t pairs; /* that were compared so far */
};

static int
compare_divisors(const void *a, const void *b)
{
	const struct divisor *x = a, *y = b;
	const int order = mpz_cmp(x->p, y->p);

	if (order != 0)
		return order;
	return x->i < y->i ? -1 : x->i > y->i;
}

static void
add_divisor(struct divisors *d, const mpz_t p, size_t i)
{
	mpz_init_set(d->v[d->n].p, p);
	d->v[d->n++].i = i;
}

/*
 * Finds a modulus that shares a prime with modulus i by comparing it with each
 * that was found, and sets p to that prime. False if there is none, or too many
 * pairs were compared.
 */
static bool
compare_all(const struct tree *t, const struct weak_common *found,
    struct divisors *d, size_t i, mpz_t p, size_t *otherp)
{
	const struct level *leaves = &t->level[0];

	for (size_t j = 0; j < leaves->n; j++) {
		if (j == i || found[j].class == WEAK_NONE)
			continue;
		if (d->pairs++ >= PAIRS_MAX)
			return false;
		mpz_gcd(p, leaves->product[i], leaves->product[j]);
		if (mpz_cmp_ui(p, 1) != 0) {
			*otherp = j;
			return true;
		}
	}
	return false;
}

/*
 * Notes the divisors of modulus i. If all of it is shared, it is compared with
 * the others, which splits it and names one of them.
 */
static void
note_divisors(const struct tree *t, struct weak_common *found,
    struct divisors *d, size_t i)
{
	mpz_t p;

	mpz_init_set(p, t->sum[i]);
	if (mpz_cmp(p, t->level[0].product[i]) == 0 &&
	    compare_all(t, found, d, i, p, &found[i].other)) {
		add_divisor(d, p, i);
		mpz_divexact(p, t->level[0].product[i], p);
	}
	add_divisor(d, p, i);
	mpz_clear(p);
}

/* Names the neighbour in d that has the same divisor. */
static void
name_other(struct weak_common *found, const struct divisors *d, size_t k)
{
	size_t *other = &found[d->v[k].i].other;

	if (*other != WEAK_COMMON_UNKNOWN)
		return;
	if (k > 0 && mpz_cmp(d->v[k - 1].p, d->v[k].p) == 0)
		*other = d->v[k - 1].i;
	else if (k + 1 < d->n && mpz_cmp(d->v[k + 1].p, d->v[k].p) == 0)
		*other = d->v[k + 1].i;
}

/* Names for each modulus another one. False without memory. */
static bool
name_others(const struct tree *t, struct weak_common *found)
{
	struct divisors d = { .n = 0 };
	const size_t n = t->level[0].n;
	size_t shared = 0;
	mpz_t p;

	for (size_t i = 0; i < n; i++)
		shared += found[i].class == WEAK_SHARED_PRIME;
	d.v = calloc(2 * shared + 1, sizeof(*d.v));
	if (d.v == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		if (found[i].class == WEAK_SHARED_PRIME)
			note_divisors(t, found, &d, i);
	qsort(d.v, d.n, sizeof(*d.v), compare_divisors);
	for (size_t k = 0; k < d.n; k++)
		name_other(found, &d, k);
	/* A modulus of three primes, of which others have one each. */
	mpz_init(p);
	for (size_t i = 0; i < n; i++)
		if (found[i].class == WEAK_SHARED_PRIME &&
		    found[i].other == WEAK_COMMON_UNKNOWN &&
		    !compare_all(t, found, &d, i, p, &found[i].other))
			found[i].other = WEAK_COMMON_UNKNOWN;
	mpz_clear(p);
	for (size_t k = 0; k < d.n; k++)
		mpz_clear(d.v[k].p);
	free(d.v);
	return true;
}

/* ------------------------------------------------------------------------ */

/*
 * Whether a small prime divides d. A divisor is much shorter than its modulus,
 * so the product of the small primes is divided by it.
 */
static bool
has_small_factor(const struct tree *t, const mpz_t d)
{
	mpz_t rest;
	bool found;

	mpz_init(rest);
	mpz_mod(rest, t->small, d);
	mpz_gcd(rest, rest, d);
	found = mpz_cmp_ui(rest, 1) != 0;
	mpz_clear(rest);
	return found;
}

size_t
weak_common_steps(size_t n)
{
	size_t steps = 0;

	for (; n > 2; n = halved(n))
		steps += n + halved(n);
	return steps;
}

bool
weak_common_find(const struct kv_span *modulus, size_t n, size_t threads,
    struct weak_common *found, void (*done)(size_t steps, void *arg), void *arg)
{
	struct tree t = { .threads = threads, .done = done, .arg = arg };
	bool ok;

	if (n == 0)
		return true;
#ifdef M_MMAP_THRESHOLD
	/* Large numbers come and go, and leave no holes. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
	mpz_init(t.small);
	mpz_primorial_ui(t.small, WEAK_FACTOR_BELOW);
	ok = plant(&t, modulus, n) && find_divisors(&t);
	for (size_t i = 0; ok && i < n; i++) {
		found[i].other = WEAK_COMMON_UNKNOWN;
		if (mpz_cmp_ui(t.sum[i], 1) == 0)
			found[i].class = WEAK_NONE;
		else if (has_small_factor(&t, t.sum[i]))
			found[i].class = WEAK_FACTOR;
		else
			found[i].class = WEAK_SHARED_PRIME;
	}
	ok = ok && name_others(&t, found);
	for (size_t i = 0; i < t.n_levels; i++)
		free_numbers(t.level[i].product, t.level[i].n);
	if (t.n_levels > 0)
		free_numbers(t.sum, t.level[t.n_levels - 1].n);
	mpz_clear(t.small);
	return ok;
}
