/* SPDX-License-Identifier: ISC */
#include "weak/tests.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "weak/common.h"
#include "weak/parallel.h"
#include "weak/rsa.h"

struct run {
	struct weak_tests *tests;
	struct progress progress;
	pthread_mutex_t lock; /* of progress */
};

static void
begin_progress(struct run *r, const char *what, size_t steps)
{
	progress_start_things(&r->progress, what, steps);
	r->progress.shown &= r->tests->progress;
}

static void
add_progress(size_t steps, void *arg)
{
	struct run *r = arg;

	pthread_mutex_lock(&r->lock);
	progress_add(&r->progress, steps);
	pthread_mutex_unlock(&r->lock);
}

static void
test_modulus(size_t i, void *arg)
{
	const struct run *r = arg;
	struct modulus *m = &r->tests->modulus[i];

	m->class = weak_rsa_find(m->n, (struct kv_span){ NULL, 0 });
	if (m->class == WEAK_NONE && m->is_open && weak_is_prime(m->n))
		m->class = WEAK_PRIME;
	add_progress(1, arg);
}

static void
test_exponent(size_t i, void *arg)
{
	const struct run *r = arg;
	struct weak_exponent *x = &r->tests->exponent[i];

	x->class = weak_rsa_find(r->tests->modulus[x->modulus].n, x->e);
}

/* False without memory. */
static bool
compare_moduli(struct run *r)
{
	struct weak_tests *t = r->tests;
	struct kv_span *span = calloc(t->n + 1, sizeof(*span));
	struct weak_common *common = calloc(t->n + 1, sizeof(*common));
	bool ok = span != NULL && common != NULL;

	for (size_t i = 0; ok && i < t->n; i++)
		span[i] = t->modulus[i].n;
	ok = ok &&
	    weak_common_find(span, t->n, t->threads, common, add_progress, r);
	for (size_t i = 0; ok && i < t->n; i++) {
		struct modulus *m = &t->modulus[i];

		if (m->class != WEAK_NONE)
			continue;
		m->class = common[i].class;
		m->other = common[i].other;
	}
	free(span);
	free(common);
	return ok;
}

bool
weak_tests_run(struct weak_tests *t)
{
	struct run r = { .tests = t };
	bool ok;

	pthread_mutex_init(&r.lock, NULL);
	begin_progress(&r, "testing moduli", t->n);
	parallel_run(t->threads, t->n, test_modulus, &r);
	parallel_run(t->threads, t->n_exponents, test_exponent, &r);
	progress_clear(&r.progress);
	begin_progress(&r, "comparing moduli", weak_common_steps(t->n));
	ok = compare_moduli(&r);
	progress_clear(&r.progress);
	pthread_mutex_destroy(&r.lock);
	if (!ok)
		snprintf(t->why, sizeof(t->why), "%s", strerror(ENOMEM));
	return ok;
}
