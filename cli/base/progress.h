/* SPDX-License-Identifier: ISC */
/*
 * base/progress: a progress line with bytes or things done, rate and time
 * left, if standard error is a terminal. Otherwise nothing is printed.
 */
#ifndef CLI_BASE_PROGRESS_H
#define CLI_BASE_PROGRESS_H

#include <time.h>

#include "base/record.h"

struct progress {
	bool shown;	      /* standard error is a terminal */
	const char *what;     /* "checking" */
	bool things;	      /* things are counted, not bytes */
	uint64_t done, total; /* total 0 if unknown */
	struct timespec start, last;
	bool drawn;
	char told[32]; /* what, of progress_receive */
};

void progress_start(struct progress *p, const char *what, uint64_t total);
/* The same for things that are counted. */
void progress_start_things(struct progress *p, const char *what,
    uint64_t total);
/* Adds to what is done. Redraws the line at most ten times a second. */
void progress_add(struct progress *p, uint64_t done);
/*
 * From now on, progress is told to show instead of being drawn, as often, also
 * without a terminal: for a process that another one prints for.
 */
void progress_tell(
    void (*show)(const char *what, bool things, uint64_t done, uint64_t total));
/*
 * Shows what such a process told in a record, if shown. It may be a stranger's:
 * false for what none of ours tells.
 */
bool progress_receive(struct progress *p, struct kv_bytes b, bool shown);

/* Erases the line: at the end, or so that a message can be printed. */
void progress_clear(struct progress *p);

#endif
