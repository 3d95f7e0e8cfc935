/* SPDX-License-Identifier: ISC */
#include "weak/tests.h"

#include <pthread.h>

#include "base/progress.h"
#include "weak/parallel.h"
#include "weak/rsa.h"

struct run {
	struct weak_tests *tests;
	struct progress progress;
	pthread_mutex_t lock; /* of progress */
};

static void
add_progress(struct run *r)
{
	pthread_mutex_lock(&r->lock);
	progress_add(&r->progress, 1);
	pthread_mutex_unlock(&r->lock);
}

static void
test_modulus(size_t i, void *arg)
{
	struct run *r = arg;
	struct modulus *m = &r->tests->modulus[i];

	m->class = weak_rsa_find(m->n, (struct kv_span){ NULL, 0 });
	if (m->class == WEAK_NONE && m->is_open && weak_is_prime(m->n))
		m->class = WEAK_PRIME;
	add_progress(r);
}

static void
test_exponent(size_t i, void *arg)
{
	const struct run *r = arg;
	struct weak_exponent *x = &r->tests->exponent[i];

	x->class = weak_rsa_find(r->tests->modulus[x->modulus].n, x->e);
}

bool
weak_tests_run(struct weak_tests *t)
{
	struct run r = { .tests = t };

	pthread_mutex_init(&r.lock, NULL);
	progress_start_things(&r.progress, "testing moduli", t->n);
	r.progress.shown &= t->progress;
	parallel_run(t->threads, t->n, test_modulus, &r);
	parallel_run(t->threads, t->n_exponents, test_exponent, &r);
	progress_clear(&r.progress);
	pthread_mutex_destroy(&r.lock);
	return true;
}
