/* SPDX-License-Identifier: ISC */
/* scratch: gives SQLite the files that it may not make. */
#ifndef WORKER_SCRATCH_H
#define WORKER_SCRATCH_H

/* Has SQLite ask the front for each temporary file. */
void scratch_for_sqlite(void);

#endif
