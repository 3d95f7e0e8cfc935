/* SPDX-License-Identifier: ISC */
#include "weak/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

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

void
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
