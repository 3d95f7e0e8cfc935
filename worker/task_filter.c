/* SPDX-License-Identifier: ISC */
/* The tasks about filters: cli/tasks/filter.h wants them. */
#include "sets/filter_judge.h"
#include "tasks.h"

bool
task_filter_head(struct task_work *t)
{
	struct filter_head f;

	filter_head_read(t->fd[0], &f);
	filter_head_put(task_result(), &f);
	ask_tell();
	return true;
}

/*
 * The name of the filter, the bits of the highest rate as a number, and whether
 * there is an old filter, and its name.
 */
bool
task_judge_filter(struct task_work *t)
{
	static char new[WORKING_TEXT_BYTES], old[WORKING_TEXT_BYTES];
	const struct filter_side a = { old, t->fd[1] }, b = { new, t->fd[0] };
	struct filter_judged j = { .ok = false };
	double rate;
	bool has_old;

	if (!record_get(&t->args, R_TEXT(new), R_ANY(rate), R_FLAG(has_old),
		R_TEXT(old)))
		return false;
	j.ok = filter_judge(new, t->fd[0], rate, &j.facts) &&
	    (!has_old || filter_compare(&a, &b, &j));
	filter_judged_put(task_result(), &j);
	ask_tell();
	return true;
}

/* The name of the filter. Whether it was read, and how many bits are set. */
bool
task_filter_facts(struct task_work *t)
{
	static char shown[WORKING_TEXT_BYTES];
	struct filter_facts facts = { .set = 0 };
	struct kv_pkbf f;
	bool ok;

	if (!record_get(&t->args, R_TEXT(shown)))
		return false;
	ok = kv_pkbf_open_fd(t->fd[0], &f) == KV_OK &&
	    filter_facts_read(shown, &f, &facts);
	return task_tell(R_FLAG(ok), R_ANY(facts.set));
}
