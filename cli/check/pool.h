/* SPDX-License-Identifier: ISC */
/*
 * check/pool: checks files with several threads. What they find is printed in
 * the order of the input, as if one thread had read it.
 */
#ifndef CLI_CHECK_POOL_H
#define CLI_CHECK_POOL_H

#include "output/progress.h"
#include "output/report.h"

#define POOL_JOBS_MAX 256

/*
 * Reads the paths, up to a NULL, prints findings to r->out and r->err, in the
 * order of the input, and sets the totals of r, which were zero. judge is
 * r's; meanwhile it looks up in mapped filters. jobs is the
 * number of threads that read and judge, at least 1: also more than there are
 * processors, since the threads wait for the disk. Ends the process if memory
 * runs out.
 */
void pool_check(struct report *r, struct kv_judge *judge, char **paths,
    size_t jobs, struct progress *progress);

#endif
