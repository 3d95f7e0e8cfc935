/* SPDX-License-Identifier: ISC */
/* keyveto check: which keys in these files are listed? */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output/progress.h"
#include "output/report.h"

#define JOBS_MAX 256

/* A block of input for one thread, and what the thread found. */
struct unit {
	bool done;
	struct input_block block;
	char *path; /* block.path: a copy, since the reader's is freed */
	struct quick *quick;  /* NULL: judge every key by kv_verdict */
	struct report report; /* prints to out and err */
	char *out, *err;
	size_t out_len, err_len;
};

/*
 * A ring of units: the reading thread fills them at the tail and prints them at
 * the head; workers take the queued ones in order.
 */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct unit *unit;
	size_t n_units, head, tail, next; /* only grow; modulo n_units */
	bool stop;
	pthread_t *thread;
	size_t n_threads;
	struct report *total;
	struct progress *progress;
	struct unit here; /* what the reading thread itself found */
};

/* model is a report whose totals are zero. */
static bool
open_buffers(struct unit *u, const struct report *model)
{
	u->report = *model;
	u->report.out = open_memstream(&u->out, &u->out_len);
	u->report.err = open_memstream(&u->err, &u->err_len);
	return u->report.out != NULL && u->report.err != NULL;
}

static void
exit_out_of_memory(void)
{
	cli_error("%s", strerror(ENOMEM));
	exit(CLI_UNCHECKED);
}

/* Prints and counts what a unit found, and empties it. */
static void
print_unit(struct pool *p, struct unit *u)
{
	if (fflush(u->report.out) != 0 || fflush(u->report.err) != 0)
		exit_out_of_memory();
	if (u->out_len + u->err_len > 0)
		progress_clear(p->progress);
	if (u->err_len > 0)
		fwrite(u->err, 1, u->err_len, p->total->err);
	if (u->out_len > 0) {
		fwrite(u->out, 1, u->out_len, p->total->out);
		fflush(p->total->out);
	}
	rewind(u->report.out);
	rewind(u->report.err);
	report_add(p->total, &u->report);
	u->report.files = u->report.keys = u->report.listed = 0;
	u->report.allowed = u->report.clean = 0;
	u->report.unsupported = u->report.problems = 0;
}

static void
unit_key(const struct input_key *key, void *arg)
{
	struct unit *u = arg;

	report_key(&u->report, key);
}

static void
unit_problem(const struct input_problem *problem, void *arg)
{
	struct unit *u = arg;

	report_problem(&u->report, problem);
}

static size_t
unit_quick(struct kv_span text, struct quick_line line[static QUICK_LINES],
    void *arg)
{
	struct unit *u = arg;
	size_t clean, n = quick_judge(u->quick, text, line, &clean);

	report_clean(&u->report, clean);
	return n;
}

static void *
run_worker(void *arg)
{
	struct pool *p = arg;
	struct input_sink sink = { .key = unit_key, .problem = unit_problem };

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct unit *u;

		while (p->next == p->tail && !p->stop)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->next == p->tail)
			break;
		u = &p->unit[p->next++ % p->n_units];
		pthread_mutex_unlock(&p->lock);
		sink.arg = u;
		sink.quick = u->quick != NULL ? unit_quick : NULL;
		input_read_block(&u->block, &sink);
		free(u->block.buffer);
		pthread_mutex_lock(&p->lock);
		u->done = true;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Prints units until at most keep are left. The caller holds the lock. */
static void
print_done_units(struct pool *p, size_t keep)
{
	while (p->tail - p->head > keep) {
		struct unit *u = &p->unit[p->head % p->n_units];

		while (!u->done)
			pthread_cond_wait(&p->done, &p->lock);
		pthread_mutex_unlock(&p->lock);
		print_unit(p, u);
		free(u->path);
		u->path = NULL;
		pthread_mutex_lock(&p->lock);
		p->head++;
	}
}

/* Prints all queued units: they come before what this thread finds next. */
static void
print_queued(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	print_done_units(p, 0);
	pthread_mutex_unlock(&p->lock);
}

/* Limits memory use: a short line can cause a long message. */
static void
print_if_much(struct pool *p)
{
	const struct report *r = &p->here.report;

	if (r->problems + r->unsupported + r->keys >= 1024)
		print_unit(p, &p->here);
}

static void
here_key(const struct input_key *key, void *arg)
{
	struct pool *p = arg;

	print_queued(p);
	report_key(&p->here.report, key);
	print_if_much(p);
}

static void
here_problem(const struct input_problem *problem, void *arg)
{
	struct pool *p = arg;

	print_queued(p);
	report_problem(&p->here.report, problem);
	print_if_much(p);
}

static size_t
here_quick(struct kv_span text, struct quick_line line[static QUICK_LINES],
    void *arg)
{
	struct pool *p = arg;

	return unit_quick(text, line, &p->here);
}

static void
here_file(const char *path, void *arg)
{
	struct pool *p = arg;

	(void)path;
	p->total->files++;
}

static void
here_progress(uint64_t bytes, void *arg)
{
	struct pool *p = arg;

	if (bytes == 0)
		print_queued(p);
	print_unit(p, &p->here);
	progress_add(p->progress, bytes);
}

/* Queues a block for the workers. */
static void
here_block(const struct input_block *block, void *arg)
{
	struct pool *p = arg;
	struct unit *u;

	print_unit(p, &p->here);
	pthread_mutex_lock(&p->lock);
	print_done_units(p, p->n_units - 1);
	u = &p->unit[p->tail % p->n_units];
	if ((u->path = strdup(block->path)) == NULL)
		exit_out_of_memory();
	u->block = *block;
	u->block.path = u->path;
	u->done = false;
	p->tail++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

static void
start_workers(struct pool *p, size_t jobs, struct quick *quick)
{
	if (!open_buffers(&p->here, p->total))
		exit_out_of_memory();
	if (jobs < 2)
		return;
	/* Freed buffers are kept: new ones would cost page faults. */
	(void)mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024);
	(void)mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
	/* How far the reader can be ahead of the slowest worker. */
	p->n_units = 8 * jobs;
	p->unit = calloc(p->n_units, sizeof(*p->unit));
	p->thread = calloc(jobs, sizeof(*p->thread));
	if (p->unit == NULL || p->thread == NULL)
		exit_out_of_memory();
	for (size_t i = 0; i < p->n_units; i++) {
		if (!open_buffers(&p->unit[i], p->total))
			exit_out_of_memory();
		p->unit[i].quick = quick;
	}
	for (; p->n_threads < jobs; p->n_threads++) {
		int error = pthread_create(&p->thread[p->n_threads], NULL,
		    run_worker, p);

		/* One worker is enough. */
		if (error != 0 && p->n_threads == 0) {
			cli_error("cannot start a thread: %s", strerror(error));
			exit(CLI_UNCHECKED);
		}
		if (error != 0)
			break;
	}
}

static void
close_buffers(struct unit *u)
{
	fclose(u->report.out);
	fclose(u->report.err);
	free(u->out);
	free(u->err);
}

static void
end_workers(struct pool *p)
{
	print_queued(p);
	print_unit(p, &p->here);
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->n_threads; i++)
		pthread_join(p->thread[i], NULL);
	for (size_t i = 0; i < p->n_units; i++)
		close_buffers(&p->unit[i]);
	close_buffers(&p->here);
	free(p->unit);
	free(p->thread);
}

/*
 * Reads the paths, up to a NULL, prints findings to r->out and r->err, in the
 * order of the input, and sets the totals of r, which were zero. jobs is the
 * number of threads that judge keys, at least 1. Ends the process if memory
 * runs out.
 */
static void
check_paths(struct report *r, struct kv_judge *judge, char **paths, size_t jobs,
    struct progress *progress)
{
	struct pool p = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.work = PTHREAD_COND_INITIALIZER,
		.done = PTHREAD_COND_INITIALIZER,
		.total = r,
		.progress = progress,
	};
	struct quick quick;
	bool is_open = quick_open(&quick, judge);
	/* --all prints every key, so quick_judge may not skip any. */
	bool is_quick = is_open && !r->all;
	const struct input_sink sink = {
		.key = here_key,
		.problem = here_problem,
		.file = here_file,
		.progress = here_progress,
		.block = jobs > 1 ? here_block : NULL,
		.quick = is_quick ? here_quick : NULL,
		.arg = &p,
	};

	p.here.quick = &quick;
	start_workers(&p, jobs, is_quick ? &quick : NULL);
	for (; *paths != NULL; paths++)
		input_read(*paths, &sink);
	end_workers(&p);
	if (is_open)
		quick_close(&quick);
}

static int
run_check(const struct cli_command *cmd, int argc, char **argv)
{
	enum { JOBS = 1 };
	static const struct option options[] = {
		{ "jobs", required_argument, NULL, JOBS },
		REPORT_LONGOPTS,
		{ NULL, 0, NULL, 0 },
	};
	static char *standard_input[] = { "-", NULL };
	struct report_options o = { 0 };
	struct kv_judge judge;
	struct report r;
	struct progress progress;
	uint64_t total = 0, jobs = 1;
	char **paths;
	int opt, status;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt != JOBS) {
			if (!report_option(cmd, opt, &o, &status))
				return status;
		} else if (!cli_option_number("--jobs", JOBS_MAX, &jobs)) {
			return CLI_UNCHECKED;
		}
	}
	if (!cli_judge_open(&judge, &o.judge))
		return CLI_UNCHECKED;
	paths = optind < argc ? argv + optind : standard_input;
	report_init(&r, &judge, &o);
	for (char **path = paths; *path != NULL; path++)
		total += input_size(*path);
	progress_start(&progress, "checking", total);
	/* --quiet prints nothing but errors. */
	if (o.quiet)
		progress.shown = false;
	check_paths(&r, &judge, paths, (size_t)jobs, &progress);
	progress_clear(&progress);
	if (!o.quiet)
		report_summary(&r);
	kv_judge_close(&judge);
	if (!cli_stdout_ok())
		return CLI_UNCHECKED;
	return report_status(&r);
}

const struct cli_command cli_check = {
	.name = "check",
	.synopsis =
	    "[--json] [--all] [--quiet] [--jobs N] [--config FILE] "
	    "[--filter FILE]... [--blocklist FILE]... [FILE|DIRECTORY|-]...",
	.help = "Tell which keys in files, directories or standard input are "
		"listed",
	.details = REPORT_HELP
	"  --jobs N         check with N threads (default 1)\n" CLI_JUDGE_HELP
	"\nExit status: 0 nothing listed, 1 something listed, 2 nothing "
	"listed but\nsomething could not be checked, or bad usage.\n",
	.run = run_check,
};
