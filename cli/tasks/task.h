/* SPDX-License-Identifier: ISC */
/* tasks/task: a task of keyveto-worker's, about what others wrote. */
#ifndef CLI_TASKS_TASK_H
#define CLI_TASKS_TASK_H

#include "working/working.h"

/* Does the task. False after a message about shown, which the task reads. */
bool tasks_do(const struct working_task *t, const char *shown);

#endif
