/* SPDX-License-Identifier: ISC */
#include "filter_and_list/intake.h"

#include <inttypes.h>
#include <stdio.h>

#include "command.h"

static void
on_key(const struct input_key *key, void *arg)
{
	struct intake *in = arg;

	if (!in->failed && (key->part != KV_PART_CA || in->ca))
		in->failed = !in->key(key, in->arg);
}

static size_t
on_quick(struct kv_span text, struct quick_line line[static QUICK_LINES],
    void *arg)
{
	struct intake *in = arg;

	return in->quick(text, line, &in->failed, in->arg);
}

void
intake_refuse(struct intake *in, const struct input_problem *problem)
{
	in->problems++;
	progress_clear(&in->progress);
	cli_error_at(problem->path, problem->line, problem->reason);
}

static void
refuse(const struct input_problem *problem, void *arg)
{
	struct intake *in = arg;

	if (!in->failed)
		intake_refuse(in, problem);
}

/* A report may have findings of other kinds. */
static void
note_findings(const char *path, uint64_t no_keys, void *arg)
{
	struct intake *in = arg;
	char text[INPUT_NO_KEYS_BYTES];

	if (in->failed || no_keys == 0)
		return;
	progress_clear(&in->progress);
	input_no_keys(no_keys, text);
	cli_error("note: %s: %s", path, text);
}

static void
show_progress(uint64_t bytes, void *arg)
{
	struct intake *in = arg;

	progress_add(&in->progress, bytes);
}

/* The size of all inputs; 0 if that of any is unknown. */
static uint64_t
total_size(char **inputs)
{
	uint64_t bytes, total = 0;

	for (; *inputs != NULL; inputs++) {
		if ((bytes = input_size(*inputs)) == 0)
			return 0;
		total += bytes;
	}
	return total;
}

bool
intake_read(struct intake *in, char **inputs)
{
	static char dash[] = "-";
	static char *standard_input[] = { dash, NULL };
	const struct input_sink sink = {
		.key = on_key,
		.problem = refuse,
		.findings = note_findings,
		.progress = show_progress,
		.quick = in->quick != NULL ? on_quick : NULL,
		.arg = in,
	};

	if (*inputs == NULL)
		inputs = standard_input;
	progress_start(&in->progress, "adding", total_size(inputs));
	if (in->read_all != NULL)
		in->read_all(inputs, &sink);
	for (; in->read != NULL && *inputs != NULL && !in->failed; inputs++)
		in->read(*inputs, &sink);
	progress_clear(&in->progress);
	return !in->failed;
}
