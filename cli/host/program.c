/* SPDX-License-Identifier: ISC */
#include "host/program.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sha2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"

/*
 * Becomes the program; if that fails, errno goes to failure, which the program
 * itself would not inherit.
 */
static _Noreturn void
exec_program(char *const *argv, const struct account *as, int out,
    int failure)
{
	const int kept = STDERR_FILENO + 1;
	char user[512], logname[512], home[PATH_MAX + 8];
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/games";
	char *const env[] = { path, user, logname, home, NULL };
	int null = open("/dev/null", O_RDWR), error;

	/* Whatever numbers these have: the standard ones may have been closed. */
	out = fcntl(out, F_DUPFD, kept + 1);
	failure = fcntl(failure, F_DUPFD, kept + 1);
	snprintf(user, sizeof(user), "USER=%s", as->name);
	snprintf(logname, sizeof(logname), "LOGNAME=%s", as->name);
	snprintf(home, sizeof(home), "HOME=%s", as->home);
	if (null != -1 && out != -1 && failure != -1 &&
	    dup2(null, STDIN_FILENO) != -1 && dup2(out, STDOUT_FILENO) != -1 &&
	    dup2(null, STDERR_FILENO) != -1 && dup2(failure, kept) != -1 &&
	    fcntl(kept, F_SETFD, FD_CLOEXEC) != -1 &&
	    close_range((unsigned int)kept + 1, ~0U, 0) == 0 &&
	    become_account(as->name, as->uid, as->gid)) {
		signal(SIGPIPE, SIG_DFL);
		child_die_with_parent();
		execve(argv[0], argv, env);
	}
	error = errno;
	(void)!write(kept, &error, sizeof(error));
	_exit(1);
}

static int64_t
now_in_milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 0 at the end of the output, or an errno. */
static int
hash_output(int fd, unsigned int timeout, struct program_output *out)
{
	const int64_t end = now_in_milliseconds() + 1000 * (int64_t)timeout;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t buf[16 * 1024];
	SHA2_CTX hash;
	ssize_t n;

	SHA256Init(&hash);
	for (;;) {
		const int64_t left = end - now_in_milliseconds();

		if (left <= 0)
			return ETIMEDOUT;
		if (poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left) != 1)
			continue;
		n = read(fd, buf, sizeof(buf));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return errno;
		if (n == 0)
			break;
		SHA256Update(&hash, buf, (size_t)n);
		out->len += (uint64_t)n;
	}
	SHA256Final(out->digest, &hash);
	return 0;
}

bool
program_run(char *const *argv, const struct account *as, unsigned int timeout,
    struct program_output *out, char *why, size_t cap)
{
	int ends[2], failure[2], error, exec_error = 0;
	pid_t pid;

	*out = (struct program_output){ .status = SIGKILL };
	if (pipe2(ends, O_CLOEXEC) == -1) {
		snprintf(why, cap, "pipe: %s", strerror(errno));
		return false;
	}
	if (pipe2(failure, O_CLOEXEC) == -1) {
		snprintf(why, cap, "pipe: %s", strerror(errno));
		close(ends[0]);
		close(ends[1]);
		return false;
	}
	if ((pid = fork()) == 0)
		exec_program(argv, as, ends[1], failure[1]);
	error = pid == -1 ? errno : 0;
	close(ends[1]);
	close(failure[1]);
	if (pid != -1) {
		error = hash_output(ends[0], timeout, out);
		if (error != 0)
			kill(pid, SIGKILL);
		while (waitpid(pid, &out->status, 0) == -1 && errno == EINTR)
			;
		/* Empty, once the program has begun. */
		if (error == 0 && read(failure[0], &exec_error,
		    sizeof(exec_error)) != sizeof(exec_error))
			exec_error = 0;
	}
	close(ends[0]);
	close(failure[0]);
	if (error != 0)
		snprintf(why, cap, "%s: %s", argv[0], error == ETIMEDOUT ?
		    "it did not end in time (--timeout)" : strerror(error));
	else if (exec_error != 0)
		snprintf(why, cap, "%s: cannot be run by %s: %s", argv[0],
		    as->name, strerror(exec_error));
	else
		return true;
	return false;
}
