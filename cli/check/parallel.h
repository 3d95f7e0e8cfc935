/* SPDX-License-Identifier: ISC */
/*
 * check/parallel: checks inputs with several threads, and prints what they find
 * in the order of the input, whatever their number.
 */
#ifndef CLI_CHECK_PARALLEL_H
#define CLI_CHECK_PARALLEL_H

#include "output/progress.h"
#include "output/report.h"

/*
 * Reads the paths up to a NULL, reports to r->out and r->err, and adds the
 * totals to r. jobs is the number of threads that judge, at least 1.
 */
void parallel_check(struct report *r, char **paths, size_t jobs,
    struct progress *progress);

#endif
