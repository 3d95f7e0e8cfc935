/* SPDX-License-Identifier: ISC */
/*
 * publish/tasks: has keyveto-worker, behind the wall, read what is to be
 * published. What it tells may be a lie of who wrote the file: all but its form
 * is the caller's to check.
 */
#ifndef CLI_PUBLISH_TASKS_H
#define CLI_PUBLISH_TASKS_H

#include "published/index.h"
#include "sets/delta.h"

struct publish_facts {
	uint32_t revision; /* of a filter */
	bool dated;
	int64_t date;
};

/*
 * Judges a filter or a list as those who follow do; sources is the file with a
 * list's date, or -1. False after a message.
 */
bool publish_task_judge(const char *shown, int fd, enum index_type type,
    int sources, struct publish_facts *facts);

/* Writes xz of in to out, which is empty. False after a message. */
bool publish_task_pack(const char *shown, int in, enum index_type type,
    const char *out_shown, int out);

/* Files that are open; delta and again are empty. */
struct publish_delta {
	const char *shown, *delta_shown; /* of new and delta */
	int old, new, delta, again;
};

/* Writes the delta from old to new, and what it makes of old into again. */
enum delta_end publish_task_delta(const struct publish_delta *d,
    char why[static DELTA_WHY_BYTES]);

#endif
