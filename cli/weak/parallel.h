/* SPDX-License-Identifier: ISC */
/* weak/parallel: does independent steps of one kind in several threads. */
#ifndef CLI_WEAK_PARALLEL_H
#define CLI_WEAK_PARALLEL_H

#include <stddef.h>

#define PARALLEL_THREADS_MAX 64

/*
 * Calls step(i, arg) for each i below n, in so many threads, this one among
 * them. Where a thread cannot be started, the others do its steps.
 */
void parallel_run(size_t threads, size_t n, void (*step)(size_t i, void *arg),
    void *arg);

#endif
