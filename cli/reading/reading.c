/* SPDX-License-Identifier: ISC */
#include "reading/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* The longest strings of a problem that are printed. */
#define PROBLEM_BYTES (READING_PACKET_BYTES + 4096)

/* Of a report. */
struct reading {
	struct report *r;
	struct progress *progress;
	bool all_tested;
	uint64_t listed; /* findings that were printed */
	char text[PROBLEM_BYTES];
};

static bool
receive_finding(struct reading *x, struct kv_bytes b)
{
	struct report *r = x->r;
	struct finding f;

	if (!finding_receive(b, r->judge->n_filters, r->judge->n_lists, &f))
		return false;
	x->listed += f.verdict == KV_VERDICT_LISTED;
	progress_clear(x->progress);
	if (r->json)
		finding_print_json(r->out, r->judge, NULL, &f);
	else
		finding_print_text(r->out, r->judge, &f);
	return true;
}

static bool
receive_problem(struct reading *x, struct kv_bytes b, bool is_note)
{
	struct report *r = x->r;
	struct input_problem problem;

	if (!finding_receive_problem(b, x->text, sizeof(x->text), &problem))
		return false;
	progress_clear(x->progress);
	/* What stands before it in the input was printed before it. */
	fflush(r->out);
	if (is_note)
		finding_print_note(r->err, &problem);
	else
		finding_print_problem(r->out, r->err, r->json && !r->quiet,
		    NULL, &problem);
	return true;
}

static bool
receive_totals(struct reading *x, struct kv_bytes b)
{
	struct report *r = x->r;

	/* The exit status must not deny what was printed. */
	return record_get_all(&b, REPORT_TOTALS(r), R_FLAG(x->all_tested)) &&
	    r->listed >= x->listed;
}

static bool
receive_answer(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	struct reading *x = t->arg;

	switch (tag) {
	case READING_FOUND:
		return receive_finding(x, b);
	case READING_FOUND_PROBLEM:
		return receive_problem(x, b, false);
	case READING_NOTE:
		return receive_problem(x, b, true);
	case READING_PROGRESS:
		return progress_receive(x->progress, b, !x->r->quiet);
	case READING_TOTALS:
		t->ended = true;
		return receive_totals(x, b);
	default:
		return false;
	}
}

static void
flush_findings(struct talk *t)
{
	const struct reading *x = t->arg;

	fflush(x->r->out);
}

bool
reading_run(struct report *r, struct talk *t, char **paths,
    struct progress *progress)
{
	struct reading *x = calloc(1, sizeof(*x));
	bool ok;

	if (x == NULL)
		return cli_error("%s", strerror(ENOMEM));
	x->r = r;
	x->progress = progress;
	t->answer = receive_answer;
	t->took_answers = flush_findings;
	t->arg = x;
	for (; *paths != NULL; paths++)
		talk_send_path(t, *paths);
	ok = talk_end(t);
	progress_clear(x->progress);
	if (!ok)
		cli_error("%s: not everything was checked", t->why);
	else if (!x->all_tested)
		cli_error("the moduli cannot be compared: %s",
		    strerror(ENOMEM));
	ok = ok && x->all_tested;
	free(x);
	return ok;
}
