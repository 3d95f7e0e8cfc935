/* SPDX-License-Identifier: ISC */
#include "host/child.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "host/become.h"

void
child_die_with_parent(void)
{
	/* Only a kernel that lacks this option could refuse it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

/*
 * The child must not hold its parent's descriptors: filters that only root may
 * read, the pipes of other children. A child that hangs in the kernel survives
 * its parent: whoever reads the parent's standard error would wait for it.
 */
static void
run_child(int fd, void (*work)(struct record_out *, void *), void *arg)
{
	static struct record_out out;
	int null = open("/dev/null", O_RDWR);

	/* fd or null may be 0 to 3, if the parent had those closed. */
	out.fd = STDERR_FILENO + 1;
	fd = fcntl(fd, F_DUPFD, out.fd);
	if (null == -1 || fd == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    dup2(null, STDERR_FILENO) == -1 || dup2(fd, out.fd) == -1 ||
	    !io_close_range((unsigned int)out.fd + 1, ~0U))
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	child_die_with_parent();
	work(&out, arg);
	record_flush(&out);
	_exit(0);
}

/* ends[0] is this process's. */
static bool
start(struct child *c, void (*work)(struct record_out *, void *), void *arg,
    const int ends[2])
{
	if ((c->pid = fork()) == 0)
		run_child(ends[1], work, arg);
	io_close(ends[1]);
	if (c->pid == -1) {
		io_close(ends[0]);
		return false;
	}
	c->fd = ends[0];
	return true;
}

bool
child_start(struct child *c, void (*work)(struct record_out *, void *),
    void *arg)
{
	int ends[2];

	*c = (struct child){ .pid = -1, .fd = -1 };
	return pipe2(ends, O_CLOEXEC) == 0 && start(c, work, arg, ends);
}

bool
child_start_socket(struct child *c, void (*work)(struct record_out *, void *),
    void *arg)
{
	int ends[2];

	*c = (struct child){ .pid = -1, .fd = -1 };
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ==
	    0 &&
	    start(c, work, arg, ends);
}

int
child_wait(struct child *c)
{
	/* If waitpid fails, report failure. */
	int status = SIGKILL;

	close(c->fd);
	while (waitpid(c->pid, &status, 0) == -1 && errno == EINTR)
		;
	*c = (struct child){ .pid = -1, .fd = -1 };
	return status;
}

uint8_t
child_read_text(struct child *c, char *text, size_t cap)
{
	struct record_in in = { 0 };
	struct kv_bytes payload;
	struct kv_span s;
	uint8_t tag = 0;
	bool bad;

	while (record_fill(&in, c->fd) > 0)
		;
	if (record_next(&in, &tag, &payload, &bad) &&
	    kv_bytes_get_string(&payload, &s) == KV_OK)
		snprintf(text, cap, "%.*s", (int)s.len, (const char *)s.p);
	record_in_free(&in);
	return child_wait(c) == 0 ? tag : 0;
}

void
child_kill_process(pid_t pid)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };

	kill(pid, SIGKILL);
	for (int i = 0; i < 20; i++) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			break;
		nanosleep(&moment, NULL);
	}
}

void
child_kill(struct child *c)
{
	close(c->fd);
	child_kill_process(c->pid);
	*c = (struct child){ .pid = -1, .fd = -1 };
}

#define REASON_BYTES 1024

struct question {
	uid_t uid;
	gid_t gid;
	bool (*f)(void *arg, char *why, size_t cap);
	void *arg;
};

enum { TAG_YES = 1, TAG_NO };

static void
answer_question(struct record_out *out, void *arg)
{
	const struct question *q = arg;
	char why[REASON_BYTES] = "";
	bool yes = false;

	if (geteuid() != q->uid && !become_account(NULL, q->uid, q->gid))
		snprintf(why, sizeof(why), "cannot become user %u: %s",
		    (unsigned int)q->uid, strerror(errno));
	else
		yes = q->f(q->arg, why, sizeof(why));
	record_send(out, yes ? TAG_YES : TAG_NO, R_TEXT(why));
}

bool
child_ask_as(uid_t uid, gid_t gid, bool (*f)(void *arg, char *why, size_t cap),
    void *arg, char *why, size_t cap)
{
	struct question q = { .uid = uid, .gid = gid, .f = f, .arg = arg };
	struct child child;

	if (!child_start(&child, answer_question, &q)) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	snprintf(why, cap, "the process that checked this was killed");
	return child_read_text(&child, why, cap) == TAG_YES;
}
