/* SPDX-License-Identifier: ISC */
/* The task "weak": tests RSA keys, for cli/working/weak.h. */
#include "tasks.h"
#include "weak/records.h"

bool
task_weak(struct task_work *t)
{
	struct weak_tests tests;
	struct kv_bytes b;

	if (!task_read(t->fd[0], &b) || !weak_records_get(b, &tests) ||
	    !weak_tests_run(&tests))
		return false;
	for (size_t i = 0; i < tests.n + tests.n_exponents; i++)
		if (weak_records_put_found(task_result(), &tests, i))
			ask_tell();
	return true;
}
