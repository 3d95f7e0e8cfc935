/* SPDX-License-Identifier: ISC */
/* timing.h: clock and median of the benchmarks in C. */
#ifndef TIMING_H
#define TIMING_H

#include <stdlib.h>
#include <time.h>

/* Microseconds of a monotonic clock. */
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

/* The median of n times (at least one). Sorts them. */
static inline double
median(double *took, size_t n)
{
	qsort(took, n, sizeof(*took), timing_compare);
	return took[n / 2];
}

#endif
