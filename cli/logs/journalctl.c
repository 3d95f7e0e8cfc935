/* SPDX-License-Identifier: ISC */
#include "logs/journalctl.h"

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
journalctl_read(struct log_reading *l, enum reading_log what,
    const char *const *argv, int err, bool none_is_1,
    char why[static LOG_WHY_BYTES])
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
	ok = log_reading_read(l, what, out[0], why);
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
