/* SPDX-License-Identifier: ISC */
#include "logs/outcomes.h"

static void
count_outcome(struct outcomes *o, struct outcome *one)
{
	if (one->process == 0)
		return;
	if (one->refused)
		logins_count_refused(o->l, &one->a);
	else
		logins_count(o->l, &one->a, one->seconds, o->log);
	one->process = 0;
	o->n--;
}

static bool
is_about(const struct outcome *one, uint64_t process, int64_t seconds)
{
	return one->process == process && seconds >= one->seconds &&
	    seconds - one->seconds <= OUTCOMES_SECONDS;
}

void
outcomes_note(struct outcomes *o, uint64_t process, int64_t seconds,
    enum outcome_says says)
{
	if (process == 0 || o->n == 0 || says == OUTCOME_NOTHING)
		return;
	for (size_t i = 0; i < OUTCOMES_MAX; i++) {
		struct outcome *one = &o->v[i];

		if (one->process != process)
			continue;
		/* A connection has one "Accepted": this is another one. */
		if (!is_about(one, process, seconds) ||
		    (says == OUTCOME_IN && !one->a.partial))
			count_outcome(o, one);
		else if (says == OUTCOME_REFUSED || one->a.partial)
			one->refused = says != OUTCOME_IN;
	}
}

void
outcomes_add(struct outcomes *o, uint64_t process, int64_t seconds,
    const struct accepted *a)
{
	struct outcome *one = &o->v[o->next];

	if (process == 0 || !logins_has(o->l, a)) {
		logins_count(o->l, a, seconds, o->log);
		return;
	}
	count_outcome(o, one);
	*one = (struct outcome){
		.process = process,
		.seconds = seconds,
		.a = *a,
	};
	o->n++;
	o->next = (o->next + 1) % OUTCOMES_MAX;
}

void
outcomes_end(struct outcomes *o)
{
	/* From the oldest on. */
	for (size_t i = 0; i < OUTCOMES_MAX; i++)
		count_outcome(o, &o->v[(o->next + i) % OUTCOMES_MAX]);
}
