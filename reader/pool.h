/* SPDX-License-Identifier: ISC */
/*
 * pool: reads files with several threads. What they find is sent in the order
 * of the input, as if one thread had read it.
 */
#ifndef READER_POOL_H
#define READER_POOL_H

#include "base/progress.h"
#include "reading/report.h"

struct pool;

/*
 * Starts to read for the report r, whose totals are zero, and whose findings
 * are records. judge is r's; meanwhile it looks up in mapped filters. jobs is
 * the number of threads that read and judge, at least 1: also more than there
 * are processors, since the threads wait for the disk. Ends the process if
 * memory runs out. End it with pool_end.
 */
struct pool *pool_start(struct report *r, struct kv_judge *judge, size_t jobs,
    struct progress *progress);

/* Reads a file, perhaps later and on another thread, and closes it. */
void pool_read(struct pool *p, const struct input_file *file);

/* Has a problem reported at this place of the input. */
void pool_problem(struct pool *p, const struct input_problem *problem);

/* Sends what is left, and sets the totals of the report. */
void pool_end(struct pool *p);

#endif
