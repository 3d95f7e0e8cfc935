/* SPDX-License-Identifier: ISC */
#include "weak/tests.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/progress.h"
#include "weak/rsa.h"

/* A thread gets so many parts of the steps, one after the other. */
#define PARTS 32

struct work {
	void (*step)(size_t i, void *arg);
	void *arg;
	size_t n, part;
	atomic_size_t next;
};

static void *
do_parts(void *arg)
{
	struct work *w = arg;
	size_t first;

	while ((first = atomic_fetch_add(&w->next, w->part)) < w->n)
		for (size_t i = first; i < w->n && i - first < w->part; i++)
			w->step(i, w->arg);
	return NULL;
}

/*
 * Calls step(i, arg) for each i below n, in so many threads, this one among
 * them. Where a thread cannot be started, the others do its steps.
 */
static void
parallel_run(size_t threads, size_t n, void (*step)(size_t i, void *arg),
    void *arg)
{
	struct work w = {
		.step = step,
		.arg = arg,
		.n = n,
		.part = n / threads / PARTS + 1,
	};
	pthread_t thread[PARALLEL_THREADS_MAX];
	size_t started = 0;

	atomic_init(&w.next, 0);
	while (started + 1 < threads && started < PARALLEL_THREADS_MAX &&
	    started + 1 < n &&
	    pthread_create(&thread[started], NULL, do_parts, &w) == 0)
		started++;
	do_parts(&w);
	while (started > 0)
		pthread_join(thread[--started], NULL);
}

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
