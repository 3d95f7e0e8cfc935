/* SPDX-License-Identifier: ISC */
#include "host/program.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/become.h"
#include "host/child.h"
#include "base/io.h"

void
program_fds(struct program *p, int in, int out, int err)
{
	p->fd[STDIN_FILENO] = in;
	p->fd[STDOUT_FILENO] = out;
	p->fd[STDERR_FILENO] = err;
	for (int i = STDERR_FILENO + 1; i < PROGRAM_FDS; i++)
		p->fd[i] = PROGRAM_NULL;
}

void
program_limit(int resource, uint64_t most)
{
	/* As the kernel has it. The libcs have types of their own. */
	struct {
		uint64_t now, most;
	} l;

	if (syscall(SYS_prlimit64, 0, resource, NULL, &l) == -1)
		return;
	if (most < l.most)
		l.most = most;
	if (l.now > l.most)
		l.now = l.most;
	(void)syscall(SYS_prlimit64, 0, resource, &l, NULL);
}

/* In a root without /dev/null, reads and writes fail instead. */
static int
open_null(void)
{
	const int fd = open("/dev/null", O_RDWR);

	return fd == -1 && errno == ENOENT ? open("/", O_PATH) : fd;
}

/* The numbers of what is closed when the program is executed. */
enum { FAILURE_FD = PROGRAM_FDS, FILE_FD, END_FD };

/*
 * Gives the descriptors of p, and the pipe *failurep, their numbers in the
 * program. Each is first copied to a high number, since the originals may have
 * any number, 0 to 4 too.
 */
static bool
place_descriptors(const struct program *p, int *failurep)
{
	int high[END_FD], null = open_null();

	if (null == -1)
		return false;
	for (int i = 0; i < PROGRAM_FDS; i++)
		high[i] = p->fd[i] == PROGRAM_NULL ? null : p->fd[i];
	high[FAILURE_FD] = *failurep;
	high[FILE_FD] = p->file != 0 ? p->file : null;
	for (int i = 0; i < END_FD; i++)
		if ((high[i] = fcntl(high[i], F_DUPFD, END_FD)) == -1)
			return false;
	for (int i = 0; i < END_FD; i++)
		if (dup2(high[i], i) == -1)
			return false;
	if (fcntl(FAILURE_FD, F_SETFD, FD_CLOEXEC) == -1 ||
	    fcntl(FILE_FD, F_SETFD, FD_CLOEXEC) == -1 ||
	    !io_close_range(END_FD, ~0U))
		return false;
	*failurep = FAILURE_FD;
	for (int i = STDERR_FILENO + 1; i < PROGRAM_FDS; i++)
		if (p->fd[i] == PROGRAM_NULL)
			close(i);
	return true;
}

static void
execute_program(const struct program *p)
{
	static char path[] = PROGRAM_PATH, locale[] = "LC_ALL=C";
	static char *const plain[] = { path, locale, NULL };
	char *const *argv = (char *const *)p->argv;
	char *const *env = p->env != NULL ? p->env : plain;

	/* Behind argv[0]: no name. before_exec may let this address pass. */
	if (p->file != 0)
		(void)syscall(SYS_execveat, FILE_FD, argv[0] + strlen(argv[0]),
		    argv, env, AT_EMPTY_PATH);
	if (p->env == environ)
		execvp(argv[0], argv);
	else
		execve(argv[0], argv, env);
}

static _Noreturn void
become_program(const struct program *p, int failure)
{
	int error;

	if (place_descriptors(p, &failure) &&
	    (p->as == NULL ||
		become_account(p->as->name, p->as->uid, p->as->gid))) {
		signal(SIGPIPE, SIG_DFL);
		if (p->dies_with_us)
			child_die_with_parent();
		if (p->file_bytes != NULL)
			program_limit(RLIMIT_FSIZE, *p->file_bytes);
		/* A system that refuses it takes away a wall, and no more. */
		if (p->no_new_privs)
			(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (p->before_exec != NULL)
			p->before_exec(p->argv[0]);
		execute_program(p);
	}
	error = errno;
	(void)!write(failure, &error, sizeof(error));
	_exit(127);
}

bool
program_start(const struct program *p, struct program_process *process)
{
	int failure[2];

	*process = (struct program_process){ .pid = -1, .failure = -1 };
	if (pipe2(failure, O_CLOEXEC) == -1)
		return false;
	if ((process->pid = fork()) == 0)
		become_program(p, failure[1]);
	io_close(failure[1]);
	if (process->pid == -1) {
		io_close(failure[0]);
		return false;
	}
	process->failure = failure[0];
	return true;
}

/* The errno of what failed before or in exec, or 0. */
static int
read_failure(const struct program_process *process)
{
	int error = 0;
	ssize_t n;

	while ((n = read(process->failure, &error, sizeof(error))) == -1 &&
	    errno == EINTR)
		;
	return n == (ssize_t)sizeof(error) ? error : 0;
}

int
program_started(struct program_process *process)
{
	const int error = read_failure(process);
	int status;

	if (error != 0)
		(void)program_wait(process, &status);
	return error;
}

int
program_wait(struct program_process *process, int *statusp)
{
	int error = read_failure(process);

	close(process->failure);
	*statusp = SIGKILL;
	while (waitpid(process->pid, statusp, 0) == -1)
		if (errno != EINTR) {
			error = errno;
			break;
		}
	*process = (struct program_process){ .pid = -1, .failure = -1 };
	return error;
}

bool
program_ends(const struct program_process *process, unsigned int seconds)
{
	const int64_t deadline = io_deadline(seconds);
	struct timespec pause = { .tv_nsec = 100 * 1000 };
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)process->pid, &info,
			WEXITED | WNOHANG | WNOWAIT) == -1 ||
		    info.si_pid != 0)
			return true;
		if (io_deadline(0) >= deadline)
			return false;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 10 * 1000 * 1000)
			pause.tv_nsec *= 2;
	}
}

void
program_kill(struct program_process *process)
{
	close(process->failure);
	child_kill_process(process->pid);
	*process = (struct program_process){ .pid = -1, .failure = -1 };
}

int
program_run(const struct program *p, int *statusp)
{
	struct program_process process;

	return program_start(p, &process) ?
	    program_wait(&process, statusp) :
	    errno;
}

int
program_read(int fd, unsigned int seconds,
    int (*take)(const void *p, size_t len, void *arg), void *arg)
{
	const int64_t deadline = io_deadline(seconds);
	char buf[16 * 1024];
	ssize_t n;
	int error;

	for (;;) {
		if (!io_wait(fd, deadline))
			return ETIMEDOUT;
		n = read(fd, buf, sizeof(buf));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return errno;
		if (n == 0)
			return 0;
		if ((error = take(buf, (size_t)n, arg)) != 0)
			return error;
	}
}
