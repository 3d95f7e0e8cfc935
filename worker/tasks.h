/* SPDX-License-Identifier: ISC */
/*
 * tasks: what the worker does with files that it got, for a command that keeps
 * the rest of its work to itself. working/working.h starts one.
 */
#ifndef WORKER_TASKS_H
#define WORKER_TASKS_H

#include "wall/enter.h"
#include "wire/working.h"
#include "ask.h"

struct task_work {
	const char *name;     /* NULL: none */
	struct kv_bytes args; /* behind the name */
	int fd[WORKING_TASK_FDS];
	size_t n_fds;
};

/*
 * Gives up what the task does not need; kept is what commands and most tasks
 * keep. Returns the walls that stand.
 */
unsigned int task_enter(struct task_work *t, const struct wall_kept *kept);

/*
 * Does it, and tells the results. False if the front asked for what no task
 * takes, or after a message.
 */
bool task_do(struct task_work *t);

/* worker/task_NAME.c: one task each. */
bool task_proof(struct task_work *t);
bool task_fingerprints(struct task_work *t);
bool task_weak(struct task_work *t);
bool task_keygen(struct task_work *t);
unsigned int task_keygen_enter(struct task_work *t, uint64_t memory);
bool task_journal(struct task_work *t);
unsigned int task_journal_enter(struct task_work *t, uint64_t memory);
/* task_list.c */
bool task_manifest(struct task_work *t);
bool task_records(struct task_work *t);
bool task_unpack(struct task_work *t);
bool task_lost_records(struct task_work *t);
bool task_list_facts(struct task_work *t);
bool task_source(struct task_work *t);
bool task_lookup(struct task_work *t);

/* task_patch.c */
bool task_apply(struct task_work *t);
unsigned int task_apply_enter(struct task_work *t, uint64_t memory);

/* task_filter.c */
bool task_filter_head(struct task_work *t);
bool task_judge_filter(struct task_work *t);
bool task_filter_facts(struct task_work *t);

/* Reads the whole file, from its start. It is freed with the process. */
bool task_read(int fd, struct kv_bytes *b);

/* Tells the result, or a part of it, as these fields. Always true. */
#define task_tell(...) task_tell_fields(RECORD_FIELDS(__VA_ARGS__))
bool task_tell_fields(const struct record_field *f);

/* The same in two steps: ask_tell sends it. */
struct record_out *task_result(void);

#endif
