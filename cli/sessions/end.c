/* SPDX-License-Identifier: ISC */
#include "sessions/end.h"

#include <sys/syscall.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/room.h"
#include "command.h"
#include "sessions/processes.h"

/* How long sshd may take to end a session by itself. */
#define TERM_SECONDS 5
#define KILL_SECONDS 5
/* A shell whose terminal is gone needs a moment. */
#define CHILDREN_MS 1000
#define STEP_MS 20

/* The processes of sshd that serve the session: first the one that let it in. */
struct ending {
	struct session *s;
	struct processes before, below; /* all; those that it had started */
	int *fd;			/* by pidfd_open(2) */
	size_t n;
};

/* False with errno. */
static bool
add_process(struct ending *e, pid_t pid)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd == -1)
		return false;
	if (!room_for_one(&e->fd, e->n, sizeof(*e->fd))) {
		io_close(fd);
		return false;
	}
	e->fd[e->n++] = fd;
	return true;
}

/*
 * Adds a child that serves the account. False if it is another one. The
 * descriptor comes first. A process that is as it was after that is the one for
 * which it stands: its number cannot become another's before it has ended, and
 * then a signal finds nobody.
 */
static bool
add_child(struct ending *e, const struct process *p)
{
	if (p->parent != e->s->pid || !processes_share_socket(p, e->s))
		return false;
	if (add_process(e, p->pid) && !process_runs(p))
		io_close(e->fd[--e->n]);
	return true;
}

static bool
find_processes(struct ending *e)
{
	const struct session *s = e->s;
	size_t n = 0;

	if (!processes_read(&e->before) ||
	    !processes_find_below(&e->before, s->pid, &e->below) ||
	    !add_process(e, s->pid))
		return cli_error("process %jd: %s", (intmax_t)s->pid,
		    strerror(errno));
	if (!processes_have_session(s))
		return cli_error("process %jd does not serve it any more",
		    (intmax_t)s->pid);
	for (size_t i = 0; i < e->below.n; i++)
		if (!add_child(e, &e->below.v[i]))
			e->below.v[n++] = e->below.v[i];
	e->below.n = n;
	return true;
}

/* Whether all have ended before the deadline. */
static bool
wait_for_all(const struct ending *e, int64_t deadline)
{
	for (size_t i = 0; i < e->n; i++)
		if (!io_wait(e->fd[i], deadline))
			return false;
	return true;
}

static void
send_signal(const struct ending *e, size_t n, int signal)
{
	for (size_t i = 0; i < n; i++)
		(void)syscall(SYS_pidfd_send_signal, e->fd[i], signal, NULL, 0);
}

/*
 * sshd hands SIGTERM on to the process that serves the account, which closes
 * terminals and lets PAM close the session. An account can stop that process.
 */
static bool
end_processes(const struct ending *e)
{
	send_signal(e, 1, SIGTERM);
	if (wait_for_all(e, io_deadline(TERM_SECONDS)))
		return true;
	send_signal(e, e->n, SIGKILL);
	return wait_for_all(e, io_deadline(KILL_SECONDS)) ||
	    cli_error("process %jd does not end", (intmax_t)e->s->pid);
}

/* How many of those that the session had started are still there. */
static size_t
count_still_running(const struct processes *below)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	size_t n = 0;

	for (int ms = 0; ms < CHILDREN_MS; ms += STEP_MS) {
		n = 0;
		for (size_t i = 0; i < below->n; i++)
			n += process_runs(&below->v[i]);
		if (n == 0)
			break;
		nanosleep(&step, NULL);
	}
	return n;
}

void
session_end(struct session *s)
{
	struct ending e = { .s = s };

	s->end = SESSION_FAILED;
	if (find_processes(&e) && end_processes(&e)) {
		s->end = SESSION_ENDED;
		s->still_run = count_still_running(&e.below);
	}
	for (size_t i = 0; i < e.n; i++)
		io_close(e.fd[i]);
	free(e.fd);
	free(e.before.v);
	free(e.below.v);
}
