/* SPDX-License-Identifier: ISC */
#include "reading/reading.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"
#include "reading/talk.h"

/* The longest strings of a problem that are printed. */
#define PROBLEM_BYTES (READING_PACKET_BYTES + 4096)
/* More than any configuration may have. */
#define PIPE_MAX_BYTES (16 * 1024 * 1024)

struct opened_file {
	char *path, *why;
	enum kv_err err;
	int fd; /* -1 if it was not opened */
};

struct opened_files {
	const char *config; /* NULL: none is opened */
	struct opened_file
	    v[1 + KV_CONFIG_MAX_FILTERS + 2 * KV_CONFIG_MAX_BLOCKLISTS];
	size_t n;
	int error; /* an errno: not all is noted; 0 if it is */
};

/* Of a report. */
struct reading {
	struct talk talk;
	struct report *r;
	struct progress *progress;
	bool all_tested;
	uint64_t listed; /* findings that were printed */
	char what[32];	 /* of the progress shown last */
	char text[PROBLEM_BYTES];
};

struct opened_files *
opened_files_new(const char *config)
{
	struct opened_files *files = calloc(1, sizeof(*files));

	if (files != NULL)
		files->config = config;
	return files;
}

void
opened_files_free(struct opened_files *files)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].path);
		free(files->v[i].why);
		io_close(files->v[i].fd);
	}
	free(files);
}

/*
 * A pipe, such as a shell's <(...), can be read only once, but this process and
 * the reader both read the configuration: fd becomes a copy in memory.
 */
static bool
copy_pipe(int fd)
{
	char buf[4096];
	struct stat st;
	ssize_t n;
	size_t total = 0;
	int copy;
	bool ok;

	if (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode))
		return true;
	if ((copy = memory_file("keyveto")) == -1)
		return false;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		errno = EFBIG;
		if (total > PIPE_MAX_BYTES || !io_write(copy, buf, (size_t)n))
			break;
	}
	ok = n == 0 && lseek(copy, 0, SEEK_SET) == 0 &&
	    dup3(copy, fd, O_CLOEXEC) != -1;
	close(copy);
	return ok;
}

void
opened_files_add(const char *path, enum kv_err err, int fd, const char *why,
    void *arg)
{
	struct opened_files *files = arg;
	struct opened_file *f = &files->v[files->n];
	/* It is opened first. A filter or a list cannot be a pipe. */
	const bool is_config = files->n == 0 && files->config != NULL;

	errno = E2BIG;
	if (files->n == sizeof(files->v) / sizeof(files->v[0]) ||
	    (err == KV_OK && is_config && !copy_pipe(fd))) {
		files->error = errno;
		return;
	}
	*f = (struct opened_file){
		.path = strdup(path),
		.why = strdup(why),
		.err = err,
		.fd = err == KV_OK ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1,
	};
	files->n++;
	if (f->path == NULL || f->why == NULL || (err == KV_OK && f->fd == -1))
		files->error = errno;
}

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
receive_progress(struct reading *x, struct kv_bytes b)
{
	struct kv_span what;
	uint64_t done, total;
	bool things;

	if (kv_bytes_get_string(&b, &what) != KV_OK ||
	    what.len >= sizeof(x->what) || !record_get_flag(&b, &things) ||
	    record_get_number(&b, &done) != KV_OK ||
	    record_get_number(&b, &total) != KV_OK || b.left != 0)
		return false;
	for (size_t i = 0; i < what.len; i++)
		if (what.p[i] != ' ' && (what.p[i] < 'a' || what.p[i] > 'z'))
			return false;
	if (!kv_span_is(what, x->what)) {
		progress_clear(x->progress);
		memcpy(x->what, what.p, what.len);
		x->what[what.len] = '\0';
		progress_start(x->progress, x->what, total);
		x->progress->things = things;
		x->progress->shown &= !x->r->quiet;
	}
	if (done > x->progress->done)
		progress_add(x->progress, done - x->progress->done);
	return true;
}

static bool
receive_totals(struct reading *x, struct kv_bytes b)
{
	struct report *r = x->r;
	uint64_t *const total[READING_TOTALS_N] = { &r->files, &r->keys,
		&r->listed, &r->refused, &r->allowed, &r->clean,
		&r->unsupported, &r->problems, &r->unjudged, &r->usable };

	for (size_t i = 0; i < READING_TOTALS_N; i++)
		if (record_get_number(&b, total[i]) != KV_OK)
			return false;
	if (!record_get_flag(&b, &x->all_tested) || b.left != 0)
		return false;
	x->talk.ended = true;
	/* The exit status must not deny what was printed. */
	return r->listed >= x->listed;
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
		return receive_progress(x, b);
	case READING_TOTALS:
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

static void
send_path(struct talk *t, enum reading_order tag, const char *path)
{
	talk_begin(t, tag, strlen(path), -1);
	record_add_text(&t->packet, path);
	record_end(&t->packet);
}

static void
send_setup(struct reading *x, const struct reading_options *o)
{
	const struct cli_judge_options *judge = o->judge;
	const struct report *r = x->r;
	struct talk *t = &x->talk;

	talk_begin(t, READING_SETUP, PATH_MAX, -1);
	record_add_number(&t->packet, READING_VERSION);
	record_add_number(&t->packet, o->threads);
	record_add_number(&t->packet,
	    (r->json ? READING_JSON : 0u) | (r->all ? READING_ALL : 0u) |
		(r->quiet ? READING_QUIET : 0u) |
		(o->weak ? READING_WEAK : 0u) |
		(r->partly ? READING_PARTLY : 0u));
	record_add_number(&t->packet, x->progress->total);
	record_add_text(&t->packet, judge->config != NULL ? judge->config : "");
	record_end(&t->packet);
	for (size_t i = 0; i < judge->n_filters; i++)
		send_path(t, READING_FILTER, judge->filter[i]);
	for (size_t i = 0; i < judge->n_blocklists; i++)
		send_path(t, READING_BLOCKLIST, judge->blocklist[i]);
}

static void
send_judge(struct talk *t, struct opened_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		struct opened_file *f = &files->v[i];

		talk_begin(t, READING_OPENED, strlen(f->path) + strlen(f->why),
		    f->fd);
		f->fd = -1;
		record_add_text(&t->packet, f->path);
		record_add_number(&t->packet, f->err);
		record_add_text(&t->packet, f->why);
		record_end(&t->packet);
	}
	talk_begin(t, READING_JUDGE, 0, -1);
	record_end(&t->packet);
}

bool
reading_run(struct report *r, const struct reading_options *o, char **paths,
    struct progress *progress)
{
	struct reading *x = calloc(1, sizeof(*x));
	bool ok;

	if (x == NULL || o->files->error != 0) {
		cli_error("the files of the configuration cannot be handed "
			  "over: %s",
		    strerror(x == NULL ? ENOMEM : o->files->error));
		free(x);
		return false;
	}
	x->r = r;
	x->progress = progress;
	snprintf(x->what, sizeof(x->what), "%s", progress->what);
	x->talk = (struct talk){
		.answer = receive_answer,
		.quiet = r->quiet,
		.took_answers = flush_findings,
		.arg = x,
	};
	talk_start(&x->talk);
	send_setup(x, o);
	send_judge(&x->talk, o->files);
	for (; *paths != NULL; paths++)
		talk_send_path(&x->talk, *paths);
	ok = talk_end(&x->talk);
	progress_clear(x->progress);
	if (!ok)
		cli_error("%s: not everything was checked", x->talk.why);
	else if (!x->all_tested)
		cli_error("the moduli cannot be compared: %s",
		    strerror(ENOMEM));
	ok = ok && x->all_tested;
	free(x);
	return ok;
}
