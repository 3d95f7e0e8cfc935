/* SPDX-License-Identifier: ISC */
#include "check/pool.h"

#include <sys/resource.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

/* How many files a worker takes at a time, of how many directories. */
#define FILES_MAX 16
#define DIRS_MAX 4
/* Limits memory use: what a unit found is printed when it has so many bytes. */
#define OUTPUT_MAX (64 * 1024)
/* Descriptors of the process besides those of directories and the judge. */
#define OTHERS_MAX 16

struct found_file {
	struct walk_dir *dir; /* NULL: the path of a block */
	char *path;
	size_t name_at; /* in path: the name in dir */
};

/*
 * A block of a large file, or some files of directories, for one worker; and
 * what the worker found.
 */
struct unit {
	struct pool *pool;
	bool done;
	bool full; /* its worker waits until this thread has printed it */
	struct input_block block; /* its buffer is NULL: only files */
	struct found_file file[FILES_MAX];
	size_t n_files, n_dirs;
	uint64_t bytes;	      /* that were read */
	struct quick *quick;  /* NULL: judge every key by kv_verdict */
	struct report report; /* prints to out and err */
	char *out, *err;
	size_t out_len, err_len;
};

/*
 * A ring of units: the reading thread fills them at the tail and prints them at
 * the head; workers take the queued ones in order. The reading thread walks
 * directories, and reads what is named. A worker that has much to print waits
 * until its unit is at the head; the one at the head never waits for long, so
 * all get there.
 */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work, done, printed;
	struct unit *unit;
	size_t n_units, head, tail, next; /* only grow; modulo n_units */
	size_t n_full;
	const struct unit *wanted; /* the reading thread waits for it */
	bool stop;
	pthread_t *thread;
	size_t n_threads;
	struct report *total;
	struct progress *progress;
	struct input_room room; /* of the reading thread */
	struct unit here;	/* what the reading thread itself found */
	struct unit *filling;	/* at the tail, not queued yet; NULL: none */
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
	u->report.unsupported = u->report.problems = u->report.unjudged = 0;
	if (u->bytes > 0)
		progress_add(p->progress, u->bytes);
	u->bytes = 0;
}

/* Whether a unit found so much that it must be printed now. */
static bool
is_much(const struct unit *u)
{
	return ftello(u->report.out) + ftello(u->report.err) >= OUTPUT_MAX;
}

/* If a worker has much to print, it waits until that is printed. */
static void
wait_if_much(struct unit *u)
{
	struct pool *p = u->pool;

	if (!is_much(u))
		return;
	pthread_mutex_lock(&p->lock);
	u->full = true;
	p->n_full++;
	pthread_cond_signal(&p->done);
	while (u->full)
		pthread_cond_wait(&p->printed, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

static void
unit_key(const struct input_key *key, void *arg)
{
	struct unit *u = arg;

	report_key(&u->report, key);
	wait_if_much(u);
}

static void
unit_problem(const struct input_problem *problem, void *arg)
{
	struct unit *u = arg;

	report_problem(&u->report, problem);
	wait_if_much(u);
}

static void
unit_note(const struct input_problem *note, void *arg)
{
	struct unit *u = arg;

	report_note(&u->report, note);
	wait_if_much(u);
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

static void
unit_file(const char *path, void *arg)
{
	struct unit *u = arg;

	(void)path;
	u->report.files++;
}

static void
unit_progress(uint64_t bytes, void *arg)
{
	struct unit *u = arg;

	u->bytes += bytes;
}

static void
work_on(struct unit *u, struct input_room *room)
{
	const struct input_sink sink = {
		.key = unit_key,
		.problem = unit_problem,
		.note = unit_note,
		.file = unit_file,
		.progress = unit_progress,
		.quick = u->quick != NULL ? unit_quick : NULL,
		.arg = u,
		.room = room,
	};

	if (u->block.buffer != NULL) {
		input_read_block(&u->block, &sink);
		free(u->block.buffer);
		u->block.buffer = NULL;
		return;
	}
	for (size_t i = 0; i < u->n_files; i++) {
		const struct found_file *f = &u->file[i];
		const struct walk_file file = {
			.dir = f->dir,
			.name = f->path + f->name_at,
			.path = f->path,
		};

		input_read_found(&file, &sink);
	}
}

static void *
run_worker(void *arg)
{
	struct pool *p = arg;
	struct input_room room = { 0 };
	struct unit *u;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->next == p->tail && !p->stop)
			pthread_cond_wait(&p->work, &p->lock);
		if (p->next == p->tail)
			break;
		u = &p->unit[p->next++ % p->n_units];
		pthread_mutex_unlock(&p->lock);
		work_on(u, &room);
		pthread_mutex_lock(&p->lock);
		u->done = true;
		if (p->wanted == u)
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	input_room_free(&room);
	return NULL;
}

static void
empty_unit(struct unit *u)
{
	for (size_t i = 0; i < u->n_files; i++) {
		free(u->file[i].path);
		if (u->file[i].dir != NULL)
			walk_release(u->file[i].dir);
	}
	u->n_files = u->n_dirs = 0;
	u->done = false;
}

/*
 * Prints units until at most keep are left, and those behind them that are done.
 * The caller holds the lock.
 */
static void
print_done(struct pool *p, size_t keep)
{
	/* Wait for the last one, instead of waking up for each. */
	if (p->tail - p->head > keep) {
		p->wanted = &p->unit[(p->tail - keep - 1) % p->n_units];
		while (!p->wanted->done && p->n_full == 0)
			pthread_cond_wait(&p->done, &p->lock);
	}
	while (p->head != p->tail) {
		struct unit *u = &p->unit[p->head % p->n_units];

		if (!u->done && p->tail - p->head <= keep)
			break;
		p->wanted = u;
		while (!u->done && !u->full)
			pthread_cond_wait(&p->done, &p->lock);
		pthread_mutex_unlock(&p->lock);
		print_unit(p, u);
		pthread_mutex_lock(&p->lock);
		if (u->full) {
			u->full = false;
			p->n_full--;
			pthread_cond_broadcast(&p->printed);
		} else {
			empty_unit(u);
			p->head++;
		}
	}
	p->wanted = NULL;
}

/* Queues the unit that is being filled, if there is one. */
static void
queue_unit(struct pool *p)
{
	if (p->filling == NULL)
		return;
	p->filling = NULL;
	pthread_mutex_lock(&p->lock);
	p->tail++;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

/* Prints all units: they come before what this thread finds next. */
static void
print_queued(struct pool *p)
{
	queue_unit(p);
	/* Only this thread changes them. */
	if (p->head == p->tail)
		return;
	pthread_mutex_lock(&p->lock);
	print_done(p, 0);
	pthread_mutex_unlock(&p->lock);
}

static void
here_key(const struct input_key *key, void *arg)
{
	struct pool *p = arg;

	print_queued(p);
	report_key(&p->here.report, key);
	if (is_much(&p->here))
		print_unit(p, &p->here);
}

static void
here_problem(const struct input_problem *problem, void *arg)
{
	struct pool *p = arg;

	print_queued(p);
	report_problem(&p->here.report, problem);
	if (is_much(&p->here))
		print_unit(p, &p->here);
}

static void
here_note(const struct input_problem *note, void *arg)
{
	struct pool *p = arg;

	print_queued(p);
	report_note(&p->here.report, note);
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

/* Starts to fill the unit at the tail, when there is room. */
static struct unit *
start_unit(struct pool *p)
{
	const size_t n = p->n_units;

	queue_unit(p);
	print_unit(p, &p->here);
	pthread_mutex_lock(&p->lock);
	/* If there is no room, make much. */
	print_done(p, p->tail - p->head < n ? n - 1 : n / 2);
	pthread_mutex_unlock(&p->lock);
	return p->filling = &p->unit[p->tail % n];
}

static void
add_file(struct unit *u, const char *path, const struct walk_file *file)
{
	struct found_file *f = &u->file[u->n_files++];

	*f = (struct found_file){ .path = strdup(path) };
	if (f->path == NULL)
		exit_out_of_memory();
	if (file == NULL)
		return;
	f->name_at = strlen(path) - strlen(file->name);
	f->dir = file->dir;
	walk_hold(f->dir);
}

/* Queues a block for the workers. */
static void
here_block(const struct input_block *block, void *arg)
{
	struct pool *p = arg;
	struct unit *u = start_unit(p);

	add_file(u, block->path, NULL);
	u->block = *block;
	u->block.path = u->file[0].path;
	queue_unit(p);
}

/* Adds a file to those for the workers. */
static void
here_found(const struct walk_file *file, void *arg)
{
	struct pool *p = arg;
	struct unit *u = p->filling != NULL ? p->filling : start_unit(p);

	if (u->n_files == 0 || u->file[u->n_files - 1].dir != file->dir) {
		if (u->n_dirs == DIRS_MAX)
			u = start_unit(p);
		u->n_dirs++;
	}
	add_file(u, file->path, file);
	if (u->n_files == FILES_MAX)
		queue_unit(p);
}

/*
 * How many descriptors there are for what one thread would not have open: no
 * file may be left unread for the lack of them.
 */
static size_t
count_spare_descriptors(const struct kv_judge *j)
{
	const size_t used = WALK_DEPTH_MAX + 1 + OTHERS_MAX + j->n_filters +
	    2 * j->n_lists;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return 0;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

static void
open_units(struct pool *p, size_t n, struct quick *quick)
{
	p->n_units = n;
	if ((p->unit = calloc(n, sizeof(*p->unit))) == NULL)
		exit_out_of_memory();
	for (size_t i = 0; i < n; i++) {
		if (!open_buffers(&p->unit[i], p->total))
			exit_out_of_memory();
		p->unit[i].pool = p;
		p->unit[i].quick = quick;
	}
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Starts no worker if there are too few descriptors for two. */
static void
start_workers(struct pool *p, size_t jobs, struct quick *quick)
{
	const size_t half = count_spare_descriptors(p->total->judge) / 2;

	jobs = smaller(jobs, half / DIRS_MAX);
	if (jobs < 2)
		return;
	/* Freed buffers are kept: new ones would cost page faults. */
	(void)mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024);
	(void)mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
	/* How far the reader can be ahead of the slowest worker. */
	open_units(p, smaller(8 * jobs, half / DIRS_MAX), quick);
	if ((p->thread = calloc(jobs, sizeof(*p->thread))) == NULL)
		exit_out_of_memory();
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
	input_room_free(&p->room);
	free(p->unit);
	free(p->thread);
}

void
pool_check(struct report *r, struct kv_judge *judge, char **paths, size_t jobs,
    struct progress *progress)
{
	struct pool p = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.work = PTHREAD_COND_INITIALIZER,
		.done = PTHREAD_COND_INITIALIZER,
		.printed = PTHREAD_COND_INITIALIZER,
		.total = r,
		.progress = progress,
	};
	struct quick quick;
	bool is_open = quick_open(&quick, judge);
	/* --all prints every key, --weak tests it: quick_judge skips none. */
	bool is_quick = is_open && !r->all && r->weak == NULL;
	struct input_sink sink = {
		.key = here_key,
		.problem = here_problem,
		.note = here_note,
		.file = here_file,
		.progress = here_progress,
		.quick = is_quick ? here_quick : NULL,
		.arg = &p,
		.room = &p.room,
	};

	if (!open_buffers(&p.here, r))
		exit_out_of_memory();
	p.here.quick = &quick;
	start_workers(&p, jobs, is_quick ? &quick : NULL);
	if (p.n_threads > 0) {
		sink.block = here_block;
		sink.found = here_found;
	}
	for (; *paths != NULL; paths++)
		input_read(*paths, &sink);
	end_workers(&p);
	if (is_open)
		quick_close(&quick);
}
