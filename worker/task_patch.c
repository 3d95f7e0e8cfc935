/* SPDX-License-Identifier: ISC */
/* Applies a patch, for cli/update/patch.c. */
#include <seccomp.h>

#include "published/patch.h"
#include "tasks.h"

/* What reading alone does not need. Files in memory it cannot make. */
static const int calls[] = {
	SCMP_SYS(fallocate),
	SCMP_SYS(ftruncate),
	SCMP_SYS(ftruncate64),
	SCMP_SYS(sendmsg),
	SCMP_SYS(write),
	SCMP_SYS(writev),
};

/* The new file is written by its pages: it needs no memory besides. */
unsigned int
task_apply_enter(struct task_work *t, uint64_t memory)
{
	const struct wall_kept kept = {
		.memory = memory,
		.writes = true,
		.maps = true,
		.call = calls,
		.n_calls = sizeof(calls) / sizeof(calls[0]),
	};
	unsigned int walls;

	(void)t;
	walls = wall_enter(&kept);
	return walls | wall_refuse_calls(&kept);
}

/* How many bytes the new file may have. Whether the patch gave one. */
bool
task_apply(struct task_work *t)
{
	struct patch_bounds b;

	return record_get(&t->args, R_ANY(b.min), R_ANY(b.max)) &&
	    task_tell(R_VALUE(patch_apply(t->fd[0], t->fd[1], &b, t->fd[2])));
}
