/* SPDX-License-Identifier: ISC */
/*
 * tasks: what the worker does with files that it got, for a command that keeps
 * the rest of its work to itself. working/working.h starts one.
 */
#ifndef WORKER_TASKS_H
#define WORKER_TASKS_H

#include "wire/working.h"
#include "ask.h"

struct task_work {
	const char *name;     /* NULL: none */
	struct kv_bytes args; /* behind the name */
	int fd[WORKING_TASK_FDS];
	size_t n_fds;
};

/*
 * Does it, and tells the results. False if the front asked for what no task
 * takes, or after a message.
 */
bool task_do(struct task_work *t);

/* Starts a part of the result; ask_tell sends it. */
struct record_out *task_result(void);

#endif
