/* SPDX-License-Identifier: ISC */
/* timing.h: what the benchmarks in C measure with. */
#ifndef TIMING_H
#define TIMING_H

#include <stdlib.h>
#include <time.h>

/* Microseconds of a clock that only goes forward. */
static inline double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline int
timing_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of n times, at least one, which are sorted by it. */
static inline double
median(double *took, size_t n)
{
	qsort(took, n, sizeof(*took), timing_compare);
	return took[n / 2];
}

#endif
