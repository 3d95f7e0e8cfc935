/* SPDX-License-Identifier: ISC */
#include "logs/log_lines.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "host/program.h"
#include "keys/unpack.h"

/* A log that is read. */
struct stream {
	const struct log_lines *l;
	struct unpack unpack;
	uint8_t buf[8 * LOG_LINE_BYTES];
	size_t len;
	bool eof;
	bool skip; /* what comes first is the end of a line that is too long */
};

/* False with unpack.why, or errno. */
static bool
read_on(struct stream *s)
{
	ssize_t n;

	s->unpack.why = NULL;
	if (s->l->deadline != 0 && !io_wait(s->unpack.fd, s->l->deadline)) {
		s->unpack.why = "took too long; the rest was not read";
		return false;
	}
	n = unpack_read(&s->unpack, s->buf + s->len,
	    sizeof(s->buf) - 1 - s->len);
	if (n == -1)
		return errno == EINTR && s->unpack.why == NULL;
	s->eof = n == 0;
	s->len += (size_t)n;
	return true;
}

static void
give_line(const struct stream *s, uint8_t *line, size_t len)
{
	if (len >= LOG_LINE_BYTES)
		return;
	for (uint8_t *p = line;
	     (p = memchr(p, '\0', len - (size_t)(p - line)));)
		*p = ' ';
	line[len] = '\0';
	s->l->line((char *)line, len, s->l->arg);
}

/* Gives the lines that are whole, and keeps the rest. */
static void
give_lines(struct stream *s)
{
	uint8_t *line = s->buf, *nl;
	size_t left = s->len;

	while ((nl = memchr(line, '\n', left)) != NULL) {
		if (!s->skip)
			give_line(s, line, (size_t)(nl - line));
		s->skip = false;
		left -= (size_t)(nl + 1 - line);
		line = nl + 1;
	}
	if (s->eof && !s->skip && left > 0)
		give_line(s, line, left);
	if (left >= LOG_LINE_BYTES || s->eof) {
		left = 0;
		s->skip = true;
	}
	memmove(s->buf, line, left);
	s->len = left;
}

/* Reads the start of a log, which may be gzip or xz. False as read_on. */
static bool
begin_stream(struct stream *s)
{
	enum unpack_form form = UNPACK_SHORT;
	struct kv_span start;

	while (form == UNPACK_SHORT && !s->eof) {
		if (!read_on(s))
			return false;
		start = (struct kv_span){ s->buf, s->len };
		form = unpack_recognise(start);
		if (form != UNPACK_GZIP && form != UNPACK_XZ)
			continue;
		if (!unpack_add(&s->unpack, form, start))
			return false;
		s->len = 0;
		form = UNPACK_SHORT;
	}
	if (unpack_foreign((struct kv_span){ s->buf, s->len }) == NULL)
		return true;
	s->unpack.why = "packed in a form that keyveto does not read: unpack "
			"it first";
	return false;
}

bool
log_lines_read(const struct log_lines *l, int fd,
    char why[static LOG_WHY_BYTES])
{
	static struct stream s;
	bool ok;

	s = (struct stream){ .l = l, .unpack.fd = fd };
	ok = begin_stream(&s);
	while (ok) {
		give_lines(&s);
		if (s.eof)
			break;
		ok = read_on(&s);
	}
	if (!ok && s.unpack.why != NULL)
		snprintf(why, LOG_WHY_BYTES, "%s", s.unpack.why);
	else if (!ok)
		snprintf(why, LOG_WHY_BYTES, "cannot be read: %s",
		    strerror(errno));
	unpack_free(&s.unpack);
	return ok;
}

/* Whether the process ends before the deadline; 0: there is none. */
static bool
ends_in_time(pid_t pid, int64_t deadline)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	siginfo_t info = { .si_pid = 0 };

	while (deadline != 0 && info.si_pid == 0) {
		if (waitid(P_PID, (id_t)pid, &info,
			WEXITED | WNOWAIT | WNOHANG) == -1)
			break;
		if (info.si_pid == 0 && io_deadline(0) >= deadline)
			return false;
		if (info.si_pid == 0)
			(void)nanosleep(&pause, NULL);
	}
	return true;
}

/* Ends journalctl. False with why if it failed by itself. */
static bool
end_journalctl(struct program_process *process, bool none_is_1,
    char why[static LOG_WHY_BYTES])
{
	int status = 0, error = program_wait(process, &status);

	if (error == 0 && WIFEXITED(status) &&
	    WEXITSTATUS(status) <= (none_is_1 ? 1 : 0))
		return true;
	snprintf(why, LOG_WHY_BYTES, "%s fails%s%s; name the file of the log",
	    JOURNALCTL, error != 0 ? ": " : "",
	    error != 0 ? strerror(error) : "");
	return false;
}

bool
log_lines_read_journal(const struct log_lines *l, const char *const *argv,
    int err, bool none_is_1, char why[static LOG_WHY_BYTES])
{
	struct program p = { .argv = argv, .dies_with_us = true };
	struct program_process process;
	bool ok, started = false;
	int out[2];

	if (pipe2(out, O_CLOEXEC) == 0) {
		program_fds(&p, PROGRAM_NULL, out[1], err);
		started = program_start(&p, &process);
		close(out[1]);
		if (!started)
			close(out[0]);
	}
	if (!started) {
		snprintf(why, LOG_WHY_BYTES, "%s cannot be started: %s",
		    JOURNALCTL, strerror(errno));
		return false;
	}
	ok = log_lines_read(l, out[0], why);
	close(out[0]);
	if (ok && !ends_in_time(process.pid, l->deadline)) {
		snprintf(why, LOG_WHY_BYTES, "%s does not end", JOURNALCTL);
		ok = false;
	}
	if (ok)
		return end_journalctl(&process, none_is_1, why);
	program_kill(&process);
	return false;
}
