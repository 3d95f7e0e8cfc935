/* SPDX-License-Identifier: ISC */
#include "reading/reading.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wall/wall.h"
#include "wire/reading.h"

/*
 * How long the reader may say nothing while it has files that end. It tells its
 * progress at least for each block that it reads.
 */
#define SILENCE_MAX_MS (10 * 60 * 1000)
/* The same, once it has said all. */
#define LAST_WORD_MS (10 * 1000)
/* The longest strings of a problem that are printed. */
#define PROBLEM_BYTES (READING_PACKET_BYTES + 4096)
/* Leaves room in a packet for the longest record but a path's. */
#define PATH_BYTES_MAX (READING_PACKET_BYTES - 2048)

struct opened_file {
	char *path, *why;
	enum kv_err err;
	int fd; /* -1 if it was not opened */
};

struct opened_files {
	struct opened_file
	    v[1 + KV_CONFIG_MAX_FILTERS + 2 * KV_CONFIG_MAX_BLOCKLISTS];
	size_t n;
	bool incomplete;
};

struct reading {
	struct report *r;
	struct progress *progress;
	struct wall_process wall;
	struct record_out packet; /* to be sent, with these descriptors */
	int fd[READING_PACKET_FDS];
	size_t n_fds, fds_max;
	struct record_in in;
	bool has_stream; /* the reader may have to wait for one */
	bool waits;	 /* it said that it does */
	bool greeted, ended;
	bool failed; /* a message was printed */
	bool all_tested;
	uint64_t listed; /* findings that were printed */
	char what[32];	 /* of the progress shown last */
	char text[PROBLEM_BYTES];
};

struct opened_files *
opened_files_new(void)
{
	return calloc(1, sizeof(struct opened_files));
}

void
opened_files_free(struct opened_files *files)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < files->n; i++) {
		free(files->v[i].path);
		free(files->v[i].why);
		if (files->v[i].fd != -1)
			close(files->v[i].fd);
	}
	free(files);
}

void
opened_files_add(const char *path, enum kv_err err, int fd, const char *why,
    void *arg)
{
	struct opened_files *files = arg;
	struct opened_file *f = &files->v[files->n];

	if (files->n == sizeof(files->v) / sizeof(files->v[0])) {
		files->incomplete = true;
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
		files->incomplete = true;
}

/* Prints why the reader is of no more use. */
static void
fail(struct reading *x, const char *reason)
{
	if (!x->failed) {
		progress_clear(x->progress);
		cli_error("the reader of files %s: not everything was checked",
		    reason);
	}
	x->failed = true;
}

static bool
get_flag(struct kv_bytes *b, bool *flagp)
{
	uint64_t n;

	if (record_get_number(b, &n) != KV_OK || n > 1)
		return false;
	*flagp = n == 1;
	return true;
}

static bool
receive_hello(struct reading *x, struct kv_bytes b)
{
	uint64_t version, walls;

	if (record_get_number(&b, &version) != KV_OK ||
	    version != READING_VERSION ||
	    record_get_number(&b, &walls) != KV_OK || walls > WALL_ALL ||
	    b.left != 0)
		return false;
	x->greeted = true;
	for (unsigned int w = WALL_ACCOUNT; w <= WALL_SECCOMP; w *= 2)
		if ((walls & w) == 0 && !x->r->quiet)
			cli_error("warning: the reader of files runs without "
				  "the wall %s, which this system refuses: "
				  "see keyveto(1)",
			    wall_name((enum wall)w));
	return true;
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
	    what.len >= sizeof(x->what) || !get_flag(&b, &things) ||
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
	if (!get_flag(&b, &x->all_tested) || b.left != 0)
		return false;
	x->ended = true;
	/* The exit status must not deny what was printed. */
	return r->listed >= x->listed;
}

static bool
receive_record(struct reading *x, uint8_t tag, struct kv_bytes b)
{
	/* The totals come last, and the walls first. */
	if (x->ended || x->greeted == (tag == READING_HELLO))
		return false;
	x->waits = false;
	switch (tag) {
	case READING_HELLO:
		return receive_hello(x, b);
	case READING_FOUND:
		return receive_finding(x, b);
	case READING_FOUND_PROBLEM:
		return receive_problem(x, b, false);
	case READING_NOTE:
		return receive_problem(x, b, true);
	case READING_PROGRESS:
		return receive_progress(x, b);
	case READING_WAITING:
		x->waits = x->has_stream;
		fflush(x->r->out);
		return x->has_stream && b.left == 0;
	case READING_TOTALS:
		return receive_totals(x, b);
	default:
		return false;
	}
}

/* Reads what the reader says. False at its end, or after a message. */
static bool
receive(struct reading *x)
{
	const ssize_t n = record_fill(&x->in, x->wall.answers);
	struct kv_bytes b;
	uint8_t tag;
	bool bad = false, ok = true;

	if (n == -1) {
		fail(x,
		    errno == ENOMEM ? strerror(errno) :
				      "sent what it never sends");
		return false;
	}
	while (ok && record_next(&x->in, &tag, &b, &bad))
		ok = receive_record(x, tag, b);
	if (bad || !ok)
		fail(x, "sent what it never sends");
	return n > 0 && !x->failed;
}

/*
 * Waits until the socket can be written, if so is asked, and receives what
 * comes meanwhile. False after a message, or when the reader has ended.
 */
static bool
wait_for_reader(struct reading *x, bool to_send)
{
	struct pollfd p[] = {
		{ .fd = x->wall.answers, .events = POLLIN },
		{ .fd = to_send ? x->wall.orders : -1, .events = POLLOUT },
	};
	int n;

	do
		n = poll(p, 2,
		    x->waits	 ? -1 :
			x->ended ? LAST_WORD_MS :
				   SILENCE_MAX_MS);
	while (n == -1 && errno == EINTR);
	if (n == 0 && x->ended)
		return false;
	if (n == 0) {
		fail(x, "said nothing for ten minutes");
		return false;
	}
	return p[0].revents == 0 || receive(x);
}

/* Sends a packet, and waits while the reader has enough of them. */
static void
send_packet(struct reading *x)
{
	union {
		struct cmsghdr header;
		char buf[CMSG_SPACE(READING_PACKET_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec v = { .iov_base = x->packet.buf,
		.iov_len = x->packet.len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	const size_t bytes = x->n_fds * sizeof(int);

	if (x->n_fds > 0) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(bytes);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(&control.header), x->fd, bytes);
	}
	while (!x->failed && !x->ended && v.iov_len > 0) {
		if (sendmsg(x->wall.orders, &m, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    -1)
			break;
		/* Too many descriptors are under way: the reader takes them. */
		if (errno == ETOOMANYREFS)
			usleep(1000);
		else if (errno == EAGAIN) {
			if (!wait_for_reader(x, true))
				break;
		} else if (errno != EINTR) {
			/* It has ended: its last words tell more. */
			break;
		}
	}
	for (size_t i = 0; i < x->n_fds; i++)
		close(x->fd[i]);
	x->n_fds = 0;
	record_clear(&x->packet);
}

/* Starts a record of at most bytes, with a descriptor unless fd is -1. */
static void
begin_order(struct reading *x, enum reading_order tag, size_t bytes, int fd)
{
	if (x->packet.len + bytes + 256 > READING_PACKET_BYTES ||
	    x->n_fds == x->fds_max)
		send_packet(x);
	if (fd != -1)
		x->fd[x->n_fds++] = fd;
	record_begin(&x->packet, (uint8_t)tag);
}

static void
send_path(struct reading *x, enum reading_order tag, const char *path)
{
	begin_order(x, tag, strlen(path), -1);
	record_add_text(&x->packet, path);
	record_end(&x->packet);
}

static void
send_setup(struct reading *x, const struct reading_options *o)
{
	const struct cli_judge_options *judge = o->judge;
	const struct report *r = x->r;

	begin_order(x, READING_SETUP, PATH_MAX, -1);
	record_add_number(&x->packet, READING_VERSION);
	record_add_number(&x->packet, o->threads);
	record_add_number(&x->packet,
	    (r->json ? READING_JSON : 0u) | (r->all ? READING_ALL : 0u) |
		(r->quiet ? READING_QUIET : 0u) |
		(o->weak ? READING_WEAK : 0u) |
		(r->partly ? READING_PARTLY : 0u));
	record_add_number(&x->packet, x->progress->total);
	record_add_text(&x->packet, judge->config != NULL ? judge->config : "");
	record_end(&x->packet);
	for (size_t i = 0; i < judge->n_filters; i++)
		send_path(x, READING_FILTER, judge->filter[i]);
	for (size_t i = 0; i < judge->n_blocklists; i++)
		send_path(x, READING_BLOCKLIST, judge->blocklist[i]);
}

static void
send_judge(struct reading *x, struct opened_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		struct opened_file *f = &files->v[i];

		begin_order(x, READING_OPENED, strlen(f->path) + strlen(f->why),
		    f->fd);
		f->fd = -1;
		record_add_text(&x->packet, f->path);
		record_add_number(&x->packet, f->err);
		record_add_text(&x->packet, f->why);
		record_end(&x->packet);
	}
	begin_order(x, READING_JUDGE, 0, -1);
	record_end(&x->packet);
	send_packet(x);
}

static void
send_problem(const struct input_problem *p, void *arg)
{
	struct reading *x = arg;
	const size_t len = strlen(p->path);

	begin_order(x, READING_PROBLEM, len + strlen(p->reason), -1);
	record_add_bytes(&x->packet, p->path,
	    len < PATH_BYTES_MAX ? len : PATH_BYTES_MAX);
	record_add_text(&x->packet, p->reason);
	record_end(&x->packet);
}

/* Hands over a file, and closes it. */
static void
send_file(struct reading *x, const struct input_file *file)
{
	const struct input_problem too_long = {
		.path = file->path,
		.reason = "its path is too long",
	};

	if (strlen(file->path) > PATH_BYTES_MAX) {
		send_problem(&too_long, x);
		close(file->fd);
		return;
	}
	x->has_stream |= !file->regular;
	begin_order(x, READING_FILE, strlen(file->path), file->fd);
	record_add_text(&x->packet, file->path);
	record_add_number(&x->packet,
	    (file->walked ? READING_WALKED : 0u) |
		(file->regular ? READING_REGULAR : 0u) |
		(file->fifo ? READING_FIFO : 0u));
	record_add_number(&x->packet, file->size);
	record_end(&x->packet);
}

static void
on_named(int fd, const char *path, bool walked, void *arg)
{
	struct reading *x = arg;
	struct input_file file;
	struct input_problem problem = { .path = path };

	input_describe_file(&file, fd, path, walked);
	if ((file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1) {
		problem.reason = strerror(errno);
		send_problem(&problem, x);
		return;
	}
	send_file(x, &file);
}

static void
on_found(const struct walk_file *found, void *arg)
{
	struct reading *x = arg;
	struct input_problem problem = { .path = found->path };
	struct input_file file = {
		.path = found->path,
		.walked = true,
		.regular = true,
	};
	struct stat st;

	file.fd = walk_open(found, &st, &problem.reason);
	if (file.fd == -1 && x->n_fds > 0) {
		/* Perhaps too many files are open. */
		send_packet(x);
		file.fd = walk_open(found, &st, &problem.reason);
	}
	if (file.fd != -1) {
		file.size = (uint64_t)st.st_size;
		send_file(x, &file);
	} else if (problem.reason != NULL) {
		send_problem(&problem, x);
	}
}

/* No folder may be left unread because files wait to be handed over. */
static size_t
count_spare_descriptors(void)
{
	const rlim_t used = WALK_DEPTH_MAX + 16;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == -1 ||
	    limit.rlim_cur <= used + 1)
		return 1;
	return limit.rlim_cur - used < READING_PACKET_FDS ?
	    (size_t)(limit.rlim_cur - used) :
	    READING_PACKET_FDS;
}

static void
receive_rest(struct reading *x)
{
	begin_order(x, READING_END, 0, -1);
	record_end(&x->packet);
	send_packet(x);
	(void)shutdown(x->wall.orders, SHUT_WR);
	while (!x->failed && wait_for_reader(x, false))
		;
}

/* Waits for the reader's end, and says why that was not as it should be. */
static void
finish(struct reading *x)
{
	char reason[64];
	int status;

	if (x->failed) {
		wall_kill(&x->wall);
		return;
	}
	if (!wall_wait(&x->wall, &status)) {
		fail(x, "did not end");
	} else if (WIFSIGNALED(status)) {
		snprintf(reason, sizeof(reason), "was ended by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
		fail(x, reason);
	} else if (!x->ended || status != 0) {
		fail(x, "ended too early");
	}
}

bool
reading_run(struct report *r, const struct reading_options *o, char **paths,
    struct progress *progress)
{
	struct reading *x = calloc(1, sizeof(*x));
	const struct input_walk walk = {
		.file = on_named,
		.found = on_found,
		.problem = send_problem,
		.arg = x,
	};
	char why[WALL_WHY_BYTES];
	bool ok;

	if (x == NULL || o->files->incomplete) {
		cli_error("%s", strerror(ENOMEM));
		free(x);
		return false;
	}
	x->r = r;
	x->progress = progress;
	x->packet.fd = -1;
	x->fds_max = count_spare_descriptors();
	snprintf(x->what, sizeof(x->what), "%s", progress->what);
	if (!wall_start(&x->wall, "keyveto-reader", why)) {
		cli_error("%s", why);
		free(x);
		return false;
	}
	send_setup(x, o);
	send_judge(x, o->files);
	for (; *paths != NULL && !x->failed; paths++)
		input_walk(*paths, &walk);
	receive_rest(x);
	finish(x);
	if (!x->failed && !x->all_tested) {
		cli_error("the moduli cannot be compared: %s",
		    strerror(ENOMEM));
		x->failed = true;
	}
	ok = !x->failed;
	record_in_free(&x->in);
	record_out_free(&x->packet);
	free(x);
	return ok;
}
