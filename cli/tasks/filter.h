/* SPDX-License-Identifier: ISC */
/*
 * tasks/filter: has keyveto-worker, behind the wall, read filters. What it
 * tells may be a lie of who wrote the file: all but its form is the caller's to
 * check.
 */
#ifndef CLI_TASKS_FILTER_H
#define CLI_TASKS_FILTER_H

#include "sets/filter_judge.h"

/* Reads the header of a file. False after a message about shown. */
bool tasks_filter_head(const char *shown, int fd, struct filter_head *f);

/*
 * Judges the filter, and compares it with old, unless old->fd is -1. False after
 * a message; j->facts has path shown.
 */
bool tasks_judge_filter(const char *shown, int fd, double max_rate,
    const char *old_shown, const struct kv_pkbf *old, bool (*stopped)(void),
    struct filter_judged *j);

/*
 * Sets facts of the filter at path, which is open as f->fd and has that header:
 * all of it is read. False after a message.
 */
bool tasks_filter_facts(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts);

#endif
