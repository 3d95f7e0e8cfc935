/* SPDX-License-Identifier: ISC */
#include "pool.h"

#include <sys/resource.h>

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "sets/quick_judge.h"
#include "wire/reading.h"

/* How many files a worker takes at a time. */
#define FILES_MAX 16
/* Limits memory use: what a unit found is sent when it has so many bytes. */
#define OUTPUT_MAX (64 * 1024)
/* Descriptors of the process besides those of files and the judge. */
#define OTHERS_MAX (16 + READING_PACKET_FDS)

/*
 * A block of a large file, or some small files, for one worker; and what the
 * worker found.
 */
struct unit {
	struct pool *pool;
	bool done;
	bool full; /* its worker waits until this thread has sent it */
	struct input_block block; /* its buffer is NULL: only files */
	/* Descriptors and paths are the unit's. A block has only a path. */
	struct input_file file[FILES_MAX];
	size_t n_files;
	struct quick *quick;  /* NULL: judge every key by kv_verdict */
	struct report report; /* its findings become records */
	struct record_out records;
};

/*
 * A ring of units: the reading thread fills them at the tail and sends them at
 * the head; workers take the queued ones in order. The reading thread reads
 * what was named itself. A worker that has found much waits
 * until its unit is at the head; the one at the head never waits for long, so
 * all get there.
 */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work, done, printed;
	struct unit *unit;
	size_t n_units, head, tail, next; /* only grow; modulo n_units */
	size_t n_full;
	_Atomic uint64_t bytes; /* that workers read, and nobody was told of */
	const struct unit *wanted; /* the reading thread waits for it */
	bool stop;
	pthread_t *thread;
	size_t n_threads;
	struct report *total;
	struct record_out *out; /* to the front */
	struct progress *progress;
	struct input_room room; /* of the reading thread */
	struct unit here;	/* what the reading thread itself found */
	struct unit *filling;	/* at the tail, not queued yet; NULL: none */
	struct quick quick;
	bool is_open, is_quick; /* of quick: it is open, and is used */
};

/* model is a report whose totals are zero. */
static void
prepare_unit(struct unit *u, const struct report *model)
{
	u->report = *model;
	u->records.fd = -1;
	u->report.records = &u->records;
}

static void
exit_out_of_memory(void)
{
	cli_error("%s", strerror(ENOMEM));
	exit(CLI_UNCHECKED);
}

/* The front must hear of a worker that reads a large file for minutes. */
static void
send_workers_progress(struct pool *p)
{
	const uint64_t bytes = atomic_exchange(&p->bytes, 0);

	if (bytes > 0)
		progress_add(p->progress, bytes);
}

/* Waits until a worker is done or full, or for a second. Holds the lock. */
static void
wait_for_worker(struct pool *p)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	(void)pthread_cond_timedwait(&p->done, &p->lock, &until);
	send_workers_progress(p);
}

/* Sends and counts what a unit found, and empties it. */
static void
send_unit(struct pool *p, struct unit *u)
{
	if (u->records.len > 0) {
		record_append(p->out, &u->records);
		record_flush(p->out);
		record_clear(&u->records);
	}
	report_add(p->total, &u->report);
	u->report.files = u->report.keys = u->report.listed = 0;
	u->report.refused = u->report.usable = 0;
	u->report.allowed = u->report.clean = 0;
	u->report.unsupported = u->report.problems = u->report.unjudged = 0;
	send_workers_progress(p);
}

/* Tells if a unit found so much that it must be sent now. */
static bool
is_much(const struct unit *u)
{
	return u->records.len >= OUTPUT_MAX;
}

/* If a worker has found much, it waits until that is sent. */
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

	atomic_fetch_add(&u->pool->bytes, bytes);
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
	for (size_t i = 0; i < u->n_files; i++)
		input_read_file(&u->file[i], &sink);
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
		free((char *)u->file[i].path);
		if (u->file[i].fd != -1)
			close(u->file[i].fd);
	}
	u->n_files = 0;
	u->done = false;
}

/*
 * Sends units until at most keep are left, and those behind them that are
 * done. The caller holds the lock.
 */
static void
send_done(struct pool *p, size_t keep)
{
	/* Wait for the last one, instead of waking up for each. */
	if (p->tail - p->head > keep) {
		p->wanted = &p->unit[(p->tail - keep - 1) % p->n_units];
		while (!p->wanted->done && p->n_full == 0)
			wait_for_worker(p);
	}
	while (p->head != p->tail) {
		struct unit *u = &p->unit[p->head % p->n_units];

		if (!u->done && p->tail - p->head <= keep)
			break;
		p->wanted = u;
		while (!u->done && !u->full)
			wait_for_worker(p);
		pthread_mutex_unlock(&p->lock);
		send_unit(p, u);
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

/* Sends all units: they come before what this thread finds next. */
static void
send_queued(struct pool *p)
{
	queue_unit(p);
	/* Only this thread changes them. */
	if (p->head == p->tail)
		return;
	pthread_mutex_lock(&p->lock);
	send_done(p, 0);
	pthread_mutex_unlock(&p->lock);
}

static void
here_key(const struct input_key *key, void *arg)
{
	struct pool *p = arg;

	send_queued(p);
	report_key(&p->here.report, key);
	if (is_much(&p->here))
		send_unit(p, &p->here);
}

static void
here_problem(const struct input_problem *problem, void *arg)
{
	struct pool *p = arg;

	send_queued(p);
	report_problem(&p->here.report, problem);
	if (is_much(&p->here))
		send_unit(p, &p->here);
}

static void
here_note(const struct input_problem *note, void *arg)
{
	struct pool *p = arg;

	send_queued(p);
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
		send_queued(p);
	send_unit(p, &p->here);
	if (bytes > 0) {
		progress_add(p->progress, bytes);
		return;
	}
	record_begin(p->out, READING_WAITING);
	record_end(p->out);
	record_flush(p->out);
}

/* Starts to fill the unit at the tail, when there is room. */
static struct unit *
start_unit(struct pool *p)
{
	const size_t n = p->n_units;

	queue_unit(p);
	send_unit(p, &p->here);
	pthread_mutex_lock(&p->lock);
	/* If there is no room, make much. */
	send_done(p, p->tail - p->head < n ? n - 1 : n / 2);
	pthread_mutex_unlock(&p->lock);
	return p->filling = &p->unit[p->tail % n];
}

static void
add_file(struct unit *u, const struct input_file *file)
{
	struct input_file *f = &u->file[u->n_files++];

	*f = *file;
	if ((f->path = strdup(file->path)) == NULL)
		exit_out_of_memory();
}

/* Queues a block for the workers. */
static void
here_block(const struct input_block *block, void *arg)
{
	struct pool *p = arg;
	struct unit *u = start_unit(p);

	add_file(u, &(struct input_file){ .fd = -1, .path = block->path });
	u->block = *block;
	u->block.path = u->file[0].path;
	queue_unit(p);
}

/*
 * How many descriptors there are for what one thread would not have open: no
 * file may be left unread for the lack of them.
 */
static size_t
count_spare_descriptors(const struct kv_judge *j)
{
	const size_t used = OTHERS_MAX + j->n_filters + 2 * j->n_lists;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1)
		return 0;
	return limit.rlim_cur > used ? (size_t)limit.rlim_cur - used : 0;
}

static void
open_units(struct pool *p, size_t n, struct quick *quick)
{
	p->n_units = n;
	if ((p->unit = calloc(n, sizeof(*p->unit))) == NULL)
		exit_out_of_memory();
	for (size_t i = 0; i < n; i++) {
		prepare_unit(&p->unit[i], p->total);
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

	jobs = smaller(jobs, half / FILES_MAX);
	if (jobs < 2)
		return;
#ifdef M_MMAP_THRESHOLD
	/* Freed buffers are kept: new ones would cost page faults. */
	(void)mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024);
	(void)mallopt(M_TRIM_THRESHOLD, 64 * 1024 * 1024);
#endif
	/* How far the reader can be ahead of the slowest worker. */
	open_units(p, smaller(8 * jobs, half / FILES_MAX), quick);
	if ((p->thread = calloc(jobs, sizeof(*p->thread))) == NULL)
		exit_out_of_memory();
	for (; p->n_threads < jobs; p->n_threads++) {
		int error = pthread_create(&p->thread[p->n_threads], NULL,
		    run_worker, p);

		/* One worker is enough. Without any, this thread reads all. */
		if (error != 0)
			break;
	}
}

static void
stop_workers(struct pool *p)
{
	send_queued(p);
	send_unit(p, &p->here);
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->n_threads; i++)
		pthread_join(p->thread[i], NULL);
	for (size_t i = 0; i < p->n_units; i++)
		record_out_free(&p->unit[i].records);
	record_out_free(&p->here.records);
	input_room_free(&p->room);
	free(p->unit);
	free(p->thread);
}

struct pool *
pool_start(struct report *r, struct kv_judge *judge, size_t jobs,
    struct progress *progress)
{
	static const struct pool initial = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.work = PTHREAD_COND_INITIALIZER,
		.done = PTHREAD_COND_INITIALIZER,
		.printed = PTHREAD_COND_INITIALIZER,
	};
	struct pool *p = malloc(sizeof(*p));

	if (p == NULL)
		exit_out_of_memory();
	*p = initial;
	p->total = r;
	p->out = r->records;
	p->progress = progress;
	p->is_open = quick_open(&p->quick, judge);
	/* --all prints every key, --weak tests it: quick_judge skips none. */
	p->is_quick = p->is_open && !r->all && r->weak == NULL;
	prepare_unit(&p->here, r);
	p->here.quick = &p->quick;
	start_workers(p, jobs, p->is_quick ? &p->quick : NULL);
	return p;
}

void
pool_read(struct pool *p, const struct input_file *file)
{
	const bool shared = p->n_threads > 0;
	const struct input_sink sink = {
		.key = here_key,
		.problem = here_problem,
		.note = here_note,
		.file = here_file,
		.progress = here_progress,
		.quick = p->is_quick ? here_quick : NULL,
		.block = shared ? here_block : NULL,
		.arg = p,
		.room = &p->room,
	};
	struct unit *u;

	if (shared && file->walked) {
		u = p->filling != NULL ? p->filling : start_unit(p);
		add_file(u, file);
		if (u->n_files == FILES_MAX)
			queue_unit(p);
		return;
	}
	input_read_file(file, &sink);
	close(file->fd);
}

void
pool_problem(struct pool *p, const struct input_problem *problem)
{
	here_problem(problem, p);
}

void
pool_end(struct pool *p)
{
	stop_workers(p);
	if (p->is_open)
		quick_close(&p->quick);
	free(p);
}
