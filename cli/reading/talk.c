/* SPDX-License-Identifier: ISC */
#include "reading/talk.h"

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

#include "base/io.h"
#include "wall/packet.h"

/*
 * How long the reader may say nothing while it has files that end. It tells its
 * progress at least for each block that it reads.
 */
#define SILENCE_MAX_MS (10 * 60 * 1000)
/* The same, once it has said all. */
#define LAST_WORD_MS (10 * 1000)
/* One wait for the reader; and one when it must take descriptors first. */
#define WAIT_MS 1000
#define TOO_MANY_MS 1
/* Leaves room in a packet for the longest record but a path's. */
#define PATH_BYTES_MAX (READING_PACKET_BYTES - 2048)

static void
fail(struct talk *t, const char *reason)
{
	if (t->why[0] == '\0')
		snprintf(t->why, sizeof(t->why), "the reader of files %s",
		    reason);
}

static bool
has_failed(const struct talk *t)
{
	return t->why[0] != '\0';
}

static bool
receive_hello(struct talk *t, struct kv_bytes b)
{
	unsigned int walls;
	uint64_t version;

	if (!record_get_all(&b, R_ANY(version), R_NUMBER(walls, WALL_ALL)) ||
	    version != READING_VERSION)
		return false;
	t->greeted = true;
	if (t->wallsp != NULL)
		*t->wallsp = walls;
	else if (!t->quiet)
		wall_warn("the reader of files", WALL_ALL & ~walls);
	return true;
}

static bool
receive_record(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	/* The greeting comes first, and the last answer last. */
	if (t->ended || t->greeted == (tag == READING_HELLO))
		return false;
	t->waits = false;
	if (tag == READING_HELLO)
		return receive_hello(t, b);
	if (tag != READING_WAITING)
		return t->answer(t, tag, b);
	t->waits = t->has_stream;
	return t->has_stream && b.left == 0;
}

/* Reads what the reader says. False at its end, or once it has failed. */
static bool
receive(struct talk *t)
{
	const ssize_t n = record_fill(&t->in, t->wall.answers);
	struct kv_bytes b;
	uint8_t tag;
	bool bad = false, ok = true;

	if (n == -1) {
		fail(t,
		    errno == ENOMEM ? "sent more than fits into memory" :
				      "sent what it never sends");
		return false;
	}
	while (ok && record_next(&t->in, &tag, &b, &bad))
		ok = receive_record(t, tag, b);
	if (t->took_answers != NULL)
		t->took_answers(t);
	if (bad || !ok)
		fail(t, "sent what it never sends");
	return n > 0 && !has_failed(t);
}

/* Notes that the reader said nothing for so long. False if that is too long. */
static bool
note_silence(struct talk *t, int ms)
{
	t->silent_ms += ms;
	if (t->waits ||
	    t->silent_ms < (t->ended ? LAST_WORD_MS : SILENCE_MAX_MS))
		return true;
	if (!t->ended)
		fail(t, "said nothing for ten minutes");
	return false;
}

/*
 * Waits for at most so long until the socket can be written, if so is asked,
 * and receives what comes meanwhile. False after a message, or when the reader
 * has ended. Time in which this process was stopped is no silence of the
 * reader's: it counts as one wait.
 */
static bool
wait_for_reader(struct talk *t, bool to_send, int ms)
{
	struct pollfd p[] = {
		{ .fd = t->wall.answers, .events = POLLIN },
		{ .fd = to_send ? t->wall.orders : -1, .events = POLLOUT },
	};
	const int n = poll(p, 2, ms);

	if (t->deadline != 0 && !t->has_stream &&
	    io_deadline(0) >= t->deadline) {
		fail(t, "took too long");
		return false;
	}
	if (n == -1)
		return errno == EINTR || note_silence(t, ms);
	if (n == 0)
		return note_silence(t, ms);
	t->silent_ms = 0;
	return p[0].revents == 0 || receive(t);
}

/* Waits while the reader has enough packets. */
void
talk_flush(struct talk *t)
{
	while (!has_failed(t) && !t->ended && t->packet.len > 0) {
		if (packet_send(t->wall.orders, t->packet.buf, t->packet.len,
			t->fd, t->n_fds, MSG_DONTWAIT))
			break;
		/*
		 * Too many descriptors of this user's are under way. The reader
		 * takes them, once its answers were taken.
		 */
		if (errno == ETOOMANYREFS) {
			if (!wait_for_reader(t, false, TOO_MANY_MS))
				break;
		} else if (errno == EAGAIN) {
			if (!wait_for_reader(t, true, WAIT_MS))
				break;
		} else {
			/* It has ended: its last words tell more. */
			break;
		}
	}
	for (size_t i = 0; i < t->n_fds; i++)
		close(t->fd[i]);
	t->n_fds = 0;
	record_clear(&t->packet);
}

void
talk_begin(struct talk *t, enum reading_order tag, size_t bytes, int fd)
{
	if (t->packet.len + bytes + 256 > READING_PACKET_BYTES ||
	    t->n_fds == t->fds_max)
		talk_flush(t);
	if (fd != -1)
		t->fd[t->n_fds++] = fd;
	record_begin(&t->packet, (uint8_t)tag);
}

static void
send_problem(const struct input_problem *p, void *arg)
{
	struct talk *t = arg;
	const size_t len = strlen(p->path);

	talk_begin(t, READING_PROBLEM, len + strlen(p->reason), -1);
	record_add_bytes(&t->packet, p->path,
	    len < PATH_BYTES_MAX ? len : PATH_BYTES_MAX);
	record_add_text(&t->packet, p->reason);
	record_end(&t->packet);
}

/* Hands over a file, and closes it. */
static void
send_file(struct talk *t, const struct input_file *file)
{
	const struct input_problem too_long = {
		.path = file->path,
		.reason = "its path is too long",
	};

	if (strlen(file->path) > PATH_BYTES_MAX) {
		send_problem(&too_long, t);
		close(file->fd);
		return;
	}
	t->has_stream |= !file->regular;
	talk_begin(t, READING_FILE, strlen(file->path), file->fd);
	record_add(&t->packet, R_STRING(file->path), R_FLAG(file->walked),
	    R_FLAG(file->regular), R_FLAG(file->fifo), R_ANY(file->size));
	record_end(&t->packet);
}

void
talk_send_log(struct talk *t, enum reading_log what, int fd, bool regular,
    int64_t modified)
{
	t->has_stream |= !regular;
	talk_begin(t, READING_LOG, 0, fd);
	record_add(&t->packet, R_VALUE(what), R_ANY(modified));
	record_end(&t->packet);
}

void
talk_send_named(int fd, const char *path, bool walked, void *arg)
{
	struct talk *t = arg;
	struct input_file file;
	struct input_problem problem = { .path = path };

	input_describe_file(&file, fd, path, walked);
	if ((file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1) {
		problem.reason = strerror(errno);
		send_problem(&problem, t);
		return;
	}
	send_file(t, &file);
}

static void
on_found(const struct walk_file *found, void *arg)
{
	struct talk *t = arg;
	struct input_problem problem = { .path = found->path };
	struct input_file file = {
		.path = found->path,
		.walked = true,
		.regular = true,
	};
	struct stat st;

	file.fd = walk_open(found, &st, &problem.reason);
	if (file.fd == -1 && t->n_fds > 0) {
		/* Perhaps too many files are open. */
		talk_flush(t);
		file.fd = walk_open(found, &st, &problem.reason);
	}
	if (file.fd != -1) {
		file.size = (uint64_t)st.st_size;
		send_file(t, &file);
	} else if (problem.reason != NULL) {
		send_problem(&problem, t);
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

void
talk_start(struct talk *t)
{
	t->packet.fd = -1;
	t->fds_max = count_spare_descriptors();
	t->started = wall_start(&t->wall, "keyveto-reader", false, 0, t->why);
}

/* The reader has no environment. Without TZ, tzset(3) reads this file. */
static const char *
find_zone(void)
{
	const char *zone = getenv("TZ");

	return zone != NULL && strlen(zone) < PATH_MAX ?
	    zone :
	    ":/etc/localtime";
}

void
talk_send_setup(struct talk *t, unsigned int flags)
{
	talk_begin(t, READING_SETUP, PATH_MAX, -1);
	record_add(&t->packet, R_VALUE(READING_VERSION), R_VALUE(flags),
	    R_VALUE(0),
	    R_STRING((flags & READING_LOGS) != 0 ? find_zone() : ""));
	record_end(&t->packet);
}

void
talk_send_path(struct talk *t, const char *path)
{
	const struct input_walk walk = {
		.file = talk_send_named,
		.found = on_found,
		.problem = send_problem,
		.arg = t,
	};

	if (!has_failed(t))
		input_walk(path, &walk);
}

static void
receive_rest(struct talk *t)
{
	talk_begin(t, READING_END, 0, -1);
	record_end(&t->packet);
	talk_flush(t);
	(void)shutdown(t->wall.orders, SHUT_WR);
	while (!has_failed(t) && wait_for_reader(t, false, WAIT_MS))
		;
}

/* Waits for the reader's end, and notes why that was not as it should be. */
static void
stop_reader(struct talk *t)
{
	char reason[64];
	int status;

	if (has_failed(t)) {
		wall_kill(&t->wall);
	} else if (!wall_wait(&t->wall, &status)) {
		fail(t, "did not end");
	} else if (WIFSIGNALED(status)) {
		snprintf(reason, sizeof(reason), "was ended by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
		fail(t, reason);
	} else if (!t->ended || status != 0) {
		fail(t, "ended too early");
	}
}

bool
talk_wait(struct talk *t, int64_t deadline)
{
	talk_flush(t);
	t->silent_ms = 0;
	if (has_failed(t) || !io_wait(t->wall.answers, deadline))
		return false;
	if (receive(t))
		return true;
	stop_reader(t);
	t->started = false;
	return false;
}

bool
talk_wait_until(struct talk *t, const bool *done, int64_t deadline)
{
	int64_t left = WAIT_MS;

	talk_flush(t);
	t->silent_ms = 0;
	while (!*done && !has_failed(t)) {
		if (deadline != 0)
			left = deadline - io_deadline(0);
		if (left <= 0)
			fail(t, "took too long");
		else if (!wait_for_reader(t, false,
			     left < WAIT_MS ? (int)left : WAIT_MS)) {
			stop_reader(t);
			t->started = false;
			fail(t, "ended too early");
		}
	}
	return !has_failed(t);
}

bool
talk_end(struct talk *t)
{
	if (t->started) {
		receive_rest(t);
		stop_reader(t);
	}
	t->started = false;
	record_in_free(&t->in);
	record_out_free(&t->packet);
	return !has_failed(t);
}

static bool
receive_keys_end(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	t->ended = true;
	return tag == READING_KEYS_END && b.left == 0;
}

bool
reading_find_walls(unsigned int *wallsp, char why[static WALL_WHY_BYTES])
{
	struct talk t = { .answer = receive_keys_end, .wallsp = wallsp };

	*wallsp = 0;
	talk_start(&t);
	talk_send_setup(&t, READING_KEYS);
	if (talk_end(&t))
		return true;
	snprintf(why, WALL_WHY_BYTES, "%s", t.why);
	return false;
}
