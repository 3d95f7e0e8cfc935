/* SPDX-License-Identifier: ISC */
#include "working/working.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "base/progress.h"
#include "wall/packet.h"
#include "wall/wall.h"
#include "wire/working.h"
#include "working/questions.h"
#include "working/relay.h"

/*
 * How long a worker may neither print nor ask while it has files that end. A
 * large filter takes minutes to compare.
 */
#define SILENCE_MAX_MS (60 * 60 * 1000)
#define WAIT_MS 1000
#define PACKET_BYTES (64 * 1024)

/* The variables that commands look at. */
static const char *const variables[] = { "SOURCE_DATE_EPOCH", "TZ" };

enum { SOCKET, OUT, ERR, CHANNELS };

struct working {
	struct wall_process wall;
	struct questions questions;
	const struct working_task *task; /* NULL: it runs a command */
	struct relay out, err;
	struct progress progress;
	bool is_open[CHANNELS];
	bool greeted, terminal, has_result;
	bool broke_off; /* ended before it had its answer */
	int silent_ms;
	int64_t deadline; /* of a task; 0: none */
	char why[WALL_WHY_BYTES];
	uint8_t packet[PACKET_BYTES];
};

static void
fail(struct working *w, const char *reason)
{
	if (w->why[0] == '\0')
		snprintf(w->why, sizeof(w->why), "the worker %s", reason);
}

static void
fail_by_errno(struct working *w, const char *what)
{
	char reason[256];

	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(errno));
	fail(w, reason);
}

/* Says that a packet could not be sent. */
static void
fail_to_send(struct working *w)
{
	/* If it has ended, its status says more. */
	if (errno != EPIPE && errno != ECONNRESET)
		fail_by_errno(w, "cannot be answered");
}

static bool
has_failed(const struct working *w)
{
	return w->why[0] != '\0';
}

/* Passes on what one of its outputs has. */
static void
relay_output(struct working *w, int channel)
{
	struct relay *r = channel == OUT ? &w->out : &w->err;
	const int fd = channel == OUT ? w->wall.answers : w->wall.errors;
	uint8_t buf[16384];
	const ssize_t n = read(fd, buf, sizeof(buf));

	progress_clear(&w->progress);
	/* What a command prints is not a task's to say. */
	if (n > 0 && channel == OUT && w->task != NULL)
		fail(w, "says what it never says");
	else if (n > 0)
		relay_print(r, buf, (size_t)n);
	else if (n == 0)
		w->is_open[channel] = false;
	else if (errno != EINTR)
		fail_by_errno(w, "cannot be read");
	if (fflush(r->out) != 0 && channel == OUT)
		fail(w, "cannot print");
}

static bool
has_input(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* What was printed before a question comes before what its answer prints. */
static void
relay_outputs(struct working *w)
{
	while (w->is_open[OUT] && has_input(w->wall.answers))
		relay_output(w, OUT);
	while (w->is_open[ERR] && has_input(w->wall.errors))
		relay_output(w, ERR);
}

static bool
receive_hello(struct working *w, struct kv_bytes b)
{
	unsigned int walls;
	uint64_t version;

	if (!record_get_all(&b, R_ANY(version), R_NUMBER(walls, WALL_ALL)) ||
	    version != WORKING_VERSION)
		return false;
	w->greeted = true;
	wall_warn("keyveto-worker", WALL_ALL & ~walls);
	return true;
}

/* Takes a packet, which is one question. False at the end, or for another. */
static bool
receive_question(struct working *w, uint8_t *tagp, struct kv_bytes *b)
{
	/* What does not fit is cut off, and is no whole record then. */
	const ssize_t n = read(w->wall.orders, w->packet, sizeof(w->packet));
	struct kv_bytes packet = { w->packet, n > 0 ? (size_t)n : 0 };
	bool bad = false;

	if (n == -1 && errno != ECONNRESET) {
		if (errno != EINTR)
			fail_by_errno(w, "cannot be read");
		return false;
	}
	if (n <= 0) {
		/* An empty packet ends it, too: it gets no more answers. */
		(void)shutdown(w->wall.orders, SHUT_RDWR);
		w->is_open[SOCKET] = false;
		return false;
	}
	if (record_cut(&packet, tagp, b, &bad) && packet.left == 0)
		return true;
	fail(w, "asked what it never asks");
	return false;
}

/* One that has ended says no more, even if its ends are still open here. */
static void
note_end(struct working *w, struct pollfd p[static CHANNELS])
{
	if (!program_ends(&w->wall.process, 0) || poll(p, CHANNELS, 0) != 0)
		return;
	for (int i = 0; i < CHANNELS; i++)
		w->is_open[i] = false;
}

static bool
is_stopped(const struct working *w)
{
	const struct working_task *t = w->task;

	return (w->deadline != 0 && io_deadline(0) >= w->deadline) ||
	    (t != NULL && t->stopped != NULL && t->stopped());
}

/* Waits once, and passes on what it prints. True if there is a question. */
static bool
wait_for_worker(struct working *w)
{
	struct pollfd p[CHANNELS] = {
		{ w->is_open[SOCKET] ? w->wall.orders : -1, POLLIN, 0 },
		{ w->is_open[OUT] ? w->wall.answers : -1, POLLIN, 0 },
		{ w->is_open[ERR] ? w->wall.errors : -1, POLLIN, 0 },
	};
	int n;

	if (is_stopped(w)) {
		fail(w, "was interrupted");
		return false;
	}
	n = poll(p, CHANNELS, WAIT_MS);
	if (n == -1 && errno != EINTR)
		fail_by_errno(w, "cannot be waited for");
	if (n == 0) {
		note_end(w, p);
		w->silent_ms += WAIT_MS;
		if (w->silent_ms > SILENCE_MAX_MS && !w->questions.has_stream)
			fail(w, "said nothing for an hour");
	}
	if (n <= 0)
		return false;
	w->silent_ms = 0;
	for (int i = OUT; i < CHANNELS; i++)
		if (p[i].revents != 0)
			relay_output(w, i);
	return p[SOCKET].revents != 0;
}

/* Only a result that has parts comes more than once. */
static bool
receive_result(struct working *w, struct kv_bytes b)
{
	const struct working_task *t = w->task;
	const bool is_first = !w->has_result;

	w->has_result = true;
	if (t->answer != NULL)
		return is_first && record_get_fields(&b, t->answer) &&
		    b.left == 0;
	return (is_first || t->has_parts) && t->result(b, t->arg);
}

static bool
has_whole_result(const struct working *w)
{
	if (!w->task->has_parts)
		return w->has_result;
	return w->task->done == NULL || *w->task->done;
}

/* Handles what needs no answer. False if it is a question. */
static bool
receive_news(struct working *w, uint8_t tag, struct kv_bytes b)
{
	bool ok = true;

	if (!w->greeted)
		ok = tag == WORKING_HELLO && receive_hello(w, b);
	else if (tag == WORKING_PROGRESS)
		/* Without a terminal it is asked for none. */
		ok = w->terminal && progress_receive(&w->progress, b, true);
	else if (w->task != NULL)
		ok = tag == WORKING_RESULT && receive_result(w, b);
	else
		return false;
	if (!ok)
		fail(w, "says what it never says");
	return true;
}

/* Is next of struct questions. */
static bool
next_question(void *arg, uint8_t *tagp, struct kv_bytes *b)
{
	struct working *w = arg;

	while (!has_failed(w) && w->is_open[SOCKET]) {
		if (!wait_for_worker(w) || !receive_question(w, tagp, b) ||
		    receive_news(w, *tagp, *b))
			continue;
		relay_outputs(w);
		progress_clear(&w->progress);
		return true;
	}
	return false;
}

static void
serve(struct working *w)
{
	struct kv_bytes b;
	uint8_t tag;

	while (next_question(w, &tag, &b)) {
		if (questions_answer(&w->questions, tag, b))
			continue;
		errno = w->questions.send_error;
		/* One that ends meanwhile is no liar: see end_worker. */
		w->broke_off = !w->is_open[SOCKET] || errno != 0;
		if (!w->broke_off)
			fail(w, "asked for what it may not have");
		else if (errno != 0)
			fail_to_send(w);
	}
	while (!has_failed(w) && (w->is_open[OUT] || w->is_open[ERR]))
		(void)wait_for_worker(w);
	relay_end(&w->out);
	relay_end(&w->err);
}

/*
 * Sends a record with n descriptors, and frees it. False if the worker does not
 * get it.
 */
static bool
send_order(struct working *w, struct record_out *o, const int *fd, size_t n)
{
	bool ok;

	record_end(o);
	ok = packet_send(w->wall.orders, o->buf, o->len, fd, n, 0);
	if (!ok)
		fail_to_send(w);
	record_out_free(o);
	return ok;
}

/* Sends a variable or a word. */
static bool
send_text(struct working *w, enum working_order tag, const char *text)
{
	struct record_out o = { .fd = -1 };

	if (strlen(text) >= WORKING_TEXT_BYTES) {
		fail(w, "takes no word as long as one of these");
		return false;
	}
	record_begin(&o, (uint8_t)tag);
	record_add_text(&o, text);
	return send_order(w, &o, NULL, 0);
}

static bool
send_variables(struct working *w)
{
	bool ok = true;

	for (size_t i = 0; ok && i < sizeof(variables) / sizeof(*variables);
	     i++) {
		const char *value = getenv(variables[i]);
		char text[256];

		if (value == NULL)
			continue;
		(void)snprintf(text, sizeof(text), "%s=%s", variables[i],
		    value);
		ok = send_text(w, WORKING_VARIABLE, text);
	}
	return ok;
}

static bool
send_words(struct working *w, int argc, char **argv)
{
	bool ok = true;

	for (int i = 0; ok && i < argc; i++)
		ok = send_text(w, WORKING_WORD, argv[i]);
	return ok;
}

static bool
send_task(struct working *w, const struct working_task *t)
{
	struct record_out o = { .fd = -1 };

	record_begin(&o, WORKING_TASK);
	record_add_text(&o, t->name);
	if (t->args != NULL)
		record_add_fields(&o, t->args);
	return send_order(w, &o, t->fd, t->n_fds);
}

static void
send_start(struct working *w)
{
	struct record_out o = { .fd = -1 };

	record_begin(&o, WORKING_START);
	record_add(&o, R_VALUE(WORKING_VERSION), R_VALUE(w->terminal),
	    R_VALUE(isatty(STDOUT_FILENO) == 1));
	(void)send_order(w, &o, NULL, 0);
}

/* Prints why it failed, and what that means for the file that it writes. */
static void
print_failure(const struct working *w)
{
	const struct questions *q = &w->questions;

	/* The caller says so. */
	if (ferror(stdout) != 0)
		return;
	if (q->replaced != NULL)
		cli_error("%s: the new one is in place, but %s", q->replaced,
		    w->why);
	else if (q->n_promises > 0)
		cli_error("%s: is as it was: %s", q->promise[0], w->why);
	else
		cli_error("%s", w->why);
}

/* Ends the worker. False with w->why. */
static bool
end_worker(struct working *w, int *statusp)
{
	char reason[64];
	int status = 0;

	if (has_failed(w)) {
		wall_kill(&w->wall);
	} else if (!wall_wait(&w->wall, &status)) {
		fail(w, "did not end");
	} else if (WIFSIGNALED(status)) {
		snprintf(reason, sizeof(reason), "was ended by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
		fail(w, reason);
	} else if (!w->greeted || w->broke_off ||
	    WEXITSTATUS(status) > CLI_UNCHECKED) {
		fail(w, "ended too early");
	}
	*statusp = WEXITSTATUS(status);
	progress_clear(&w->progress);
	return !has_failed(w);
}

static bool
start_worker(struct working *w, uint64_t file_bytes)
{
	/* A worker that takes nothing is none of ours. */
	const struct timeval patience = { .tv_sec = 60 };

	w->terminal = isatty(STDERR_FILENO) == 1;
	w->out.out = stdout;
	w->err.out = stderr;
	for (int i = 0; i < CHANNELS; i++)
		w->is_open[i] = true;
	if (!wall_start(&w->wall, "keyveto-worker", true, file_bytes, w->why))
		return false;
	(void)setsockopt(w->wall.orders, SOL_SOCKET, SO_SNDTIMEO, &patience,
	    sizeof(patience));
	return true;
}

int
working_run(int argc, char **argv)
{
	static struct working w;
	int status;

	if (!start_worker(&w, WALL_ANY_SIZE)) {
		cli_error("%s", w.why);
		return CLI_UNCHECKED;
	}
	w.questions = (struct questions){
		.socket = w.wall.orders,
		.argc = argc,
		.argv = argv,
		.next = next_question,
		.arg = &w,
	};
	if (send_variables(&w) && send_words(&w, argc, argv))
		send_start(&w);
	serve(&w);
	if (!end_worker(&w, &status)) {
		print_failure(&w);
		status = CLI_UNCHECKED;
	}
	questions_end(&w.questions);
	return cli_stdout_ok() ? status : CLI_UNCHECKED;
}

struct working *
working_begin(const struct working_task *t, char why[static WALL_WHY_BYTES])
{
	struct working *w = calloc(1, sizeof(*w));
	const bool started = w != NULL && start_worker(w, t->file_bytes);

	if (started) {
		w->task = t;
		w->deadline = t->deadline != 0 ?
		    t->deadline :
		    io_deadline(WORKING_SECONDS_MAX);
		if (send_variables(w) && send_task(w, t))
			send_start(w);
	} else {
		snprintf(why, WALL_WHY_BYTES, "%s",
		    w != NULL ? w->why : "out of memory");
		free(w);
	}
	return started ? w : NULL;
}

bool
working_end(struct working *w, bool stop, char why[static WALL_WHY_BYTES])
{
	int status;
	bool ok;

	if (stop)
		fail(w, "was interrupted");
	else
		serve(w);
	if (end_worker(w, &status) && status != 0)
		fail(w, "could not do it");
	else if (!has_whole_result(w))
		fail(w, "told nothing");
	ok = !has_failed(w);
	snprintf(why, WALL_WHY_BYTES, "%s", w->why);
	free(w);
	return ok;
}

bool
working_do(const struct working_task *t, char why[static WALL_WHY_BYTES])
{
	struct working *w = working_begin(t, why);

	return w != NULL && working_end(w, false, why);
}

bool
working_do_or_say(const struct working_task *t, const char *shown)
{
	char why[WALL_WHY_BYTES];

	if (working_do(t, why))
		return true;
	if (t->stopped != NULL && t->stopped())
		return cli_error("%s: interrupted", shown);
	return cli_error("%s: cannot be read: %s", shown, why);
}

/* What the task "hash" answers. */
struct hashed {
	uint64_t error;
	char sha256[WORKING_HASH_CHARS];
};

static bool
receive_hash(struct kv_bytes b, void *arg)
{
	struct hashed *h = arg;

	return record_get_all(&b, R_ANY(h->error), R_TEXT(h->sha256)) &&
	    strlen(h->sha256) == WORKING_HASH_CHARS - 1 &&
	    strspn(h->sha256, "0123456789abcdef") == WORKING_HASH_CHARS - 1;
}

bool
working_hash(int fd, const char *shown, char sha256[static WORKING_HASH_CHARS])
{
	struct hashed h = { .error = 0 };
	const struct working_task t = {
		.name = "hash",
		.fd = { fd },
		.n_fds = 1,
		.result = receive_hash,
		.arg = &h,
	};

	sha256[0] = '\0';
	if (!working_do_or_say(&t, shown))
		return false;
	if ((errno = (int)h.error) != 0)
		return cli_failed(shown, "cannot be read");
	memcpy(sha256, h.sha256, sizeof(h.sha256));
	return true;
}
