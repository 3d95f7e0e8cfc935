/* SPDX-License-Identifier: ISC */
/* tasks/task: a task of keyveto-worker's, about what others wrote. */
#ifndef CLI_TASKS_TASK_H
#define CLI_TASKS_TASK_H

#include "working/working.h"

/*
 * Does the task, and frees its arguments. False after a message about shown,
 * which the task reads.
 */
bool tasks_do(struct working_task *t, const char *shown);

#endif
