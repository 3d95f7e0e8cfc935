/* SPDX-License-Identifier: ISC */
/* The tasks about filters: cli/tasks/filter.h wants them. */
#include <string.h>

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
	const struct losses_side a = { old, t->fd[1] }, b = { new, t->fd[0] };
	struct filter_judged j = { .ok = false };
	uint64_t bits, has_old;
	double rate;

	if (!record_get_text(&t->args, new, sizeof(new)) ||
	    !record_get_number(&t->args, &bits) ||
	    !record_get_number(&t->args, &has_old) ||
	    !record_get_text(&t->args, old, sizeof(old)))
		return false;
	memcpy(&rate, &bits, sizeof(rate));
	j.ok = filter_judge(new, t->fd[0], rate, &j.facts) &&
	    (has_old == 0 || filter_compare(&a, &b, &j));
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
	struct record_out *o;
	struct kv_pkbf f;
	bool ok;

	if (!record_get_text(&t->args, shown, sizeof(shown)))
		return false;
	ok = kv_pkbf_open_fd(t->fd[0], &f) == KV_OK &&
	    filter_facts_read(shown, &f, &facts);
	o = task_result();
	record_add_number(o, ok);
	record_add_number(o, facts.set);
	ask_tell();
	return true;
}
