/* SPDX-License-Identifier: ISC */
/*
 * check/parallel: checks inputs with several threads. The output is in the
 * order of the input.
 */
#ifndef CLI_CHECK_PARALLEL_H
#define CLI_CHECK_PARALLEL_H

#include "output/progress.h"
#include "output/report.h"

/*
 * Reads the paths, up to a NULL, prints findings to r->out and r->err, and adds
 * the totals to r. jobs is the number of threads that judge keys, at least 1.
 * Ends the process if memory runs out.
 */
void parallel_check(struct report *r, char **paths, size_t jobs,
    struct progress *progress);

#endif
