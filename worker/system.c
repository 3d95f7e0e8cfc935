/* SPDX-License-Identifier: ISC */
#include "system.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "wire/working.h"

#define PATHS_MAX 256

/* What a program and its libraries read or execute. */
static const char *const needed[] = {
	"/lib",
	"/lib32",
	"/lib64",
	"/usr/lib",
	"/usr/lib32",
	"/usr/lib64",
	"/usr/local/lib",
	"/usr/share",
	"/dev/null",
	"/dev/random",
	"/dev/urandom",
	"/etc/crypto-policies",
	"/etc/gcrypt",
	"/etc/ld.so.cache",
	"/etc/ld.so.preload",
	"/etc/localtime",
	"/etc/nsswitch.conf",
	"/etc/passwd",
	"/etc/pki/tls/openssl.cnf",
	"/etc/selinux/config",
	"/etc/ssl/openssl.cnf",
	"/proc/filesystems",
	"/proc/sys/crypto",
};
static const char *const all[] = { "/", "/dev/null" };

/* What is left to the program, and its copy; 0: none. */
static struct wall_kept kept;
static bool is_plain;
static int program;

/* Copies a file, up to so many bytes, into one in memory, or -1 with errno. */
static int
fill(int copy, int fd, off_t most)
{
	off_t at = 0;
	ssize_t n = 1;

	while (copy != -1 && n > 0 && at < most)
		if ((n = sendfile(copy, fd, &at, (size_t)(most - at))) == -1 &&
		    errno == EINTR)
			n = 1;
	if (copy != -1 && n == -1) {
		const int error = errno;

		close(copy);
		errno = error;
		return -1;
	}
	return copy;
}

int
system_copy(int fd, off_t most)
{
	return fill(memfd_create("file", MFD_CLOEXEC), fd, most);
}

/* Linux 6.3 has it. The headers may be older. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

/* A file in memory that may be executed. */
static int
open_executable(void)
{
	const int fd = memfd_create("program", MFD_CLOEXEC | MFD_EXEC);

	return fd == -1 && errno == EINVAL ?
	    memfd_create("program", MFD_CLOEXEC) :
	    fd;
}

/*
 * A copy of the program that its account can execute, but not read: other
 * processes of that can then not trace it, nor read its memory, although execve(2)
 * undoes what wall_enter said of this. 0: it is started from its own file.
 */
static int
copy_program(int fd)
{
	char path[64];
	struct stat st;
	int copy = -1, to_execute = -1;

	if (fd != -1 && fstat(fd, &st) == 0 && st.st_size <= WORKING_COPY_BYTES)
		copy = fill(open_executable(), fd, WORKING_COPY_BYTES);
	if (copy == -1)
		return 0;
	/* What is open for writing cannot be executed. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
	if (fchmod(copy, 0700) == 0)
		to_execute = open(path, O_RDONLY | O_CLOEXEC);
	if (to_execute != -1 && fchmod(copy, 0111) == -1) {
		close(to_execute);
		to_execute = -1;
	}
	close(copy);
	return to_execute > 0 ? to_execute : 0;
}

bool
system_has_account(void)
{
	FILE *f = geteuid() != 0 ? fopen("/etc/passwd", "re") : NULL;
	const struct passwd *pw = NULL;
	bool has;

	while (f != NULL && (pw = fgetpwent(f)) != NULL)
		if (pw->pw_uid == geteuid())
			break;
	has = geteuid() == 0 || pw != NULL;
	if (f != NULL)
		fclose(f);
	return has;
}

/* Whether it is a program, and no script. Without a file, nothing is started. */
static bool
is_program(int fd)
{
	static const char magic[] = "\177ELF";
	char start[sizeof(magic)] = "";

	return pread(fd, start, sizeof(magic) - 1, 0) == -1 ||
	    strcmp(start, magic) == 0;
}

/* Has the program copied. Returns whether it is one. */
static bool
prepare(const char *path)
{
	/* A link leads to where Landlock does not let it be executed. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	const bool is_one = fd != -1 ? is_program(fd) : errno == ENOENT;

	if (fd != -1 && is_one)
		program = copy_program(fd);
	if (fd != -1)
		close(fd);
	return is_one;
}

unsigned int
system_enter(const struct system *s)
{
	static const char *path[PATHS_MAX];
	unsigned int walls;

	path[0] = s->program;
	is_plain = prepare(s->program);
	kept = (struct wall_kept){
		.memory = s->memory,
		.path = path,
		.n_paths = 1,
		.executes = true,
		.group = s->group,
		.can_read = s->can_read,
		.only_reads = s->can_read != NULL,
	};
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		path[kept.n_paths++] = needed[i];
	for (size_t i = 0; i < s->n_paths && kept.n_paths < PATHS_MAX; i++)
		path[kept.n_paths++] = s->path[i];
	if (!is_plain || s->has_more) {
		kept.path = all;
		kept.n_paths = sizeof(all) / sizeof(all[0]);
		kept.connects = true;
	}
	walls = wall_enter(&kept);
	return walls | wall_refuse_calls(&kept);
}

/* Is before_exec of struct program. */
static void
refuse_starting(const char *path)
{
	wall_refuse_starting(&kept, path);
}

struct start {
	char *text;
	size_t len, cap;
};

/* Keeps the start of the output, and drops the rest. */
static int
keep_start(const void *p, size_t len, void *arg)
{
	struct start *s = arg;
	const size_t room = s->cap - 1 - s->len;
	const size_t n = len < room ? len : room;

	memcpy(s->text + s->len, p, n);
	s->len += n;
	s->text[s->len] = '\0';
	return 0;
}

/* Gives the program its end of the pipe. */
static void
place_pipe(struct program *p, int end)
{
	for (int i = 0; i < PROGRAM_FDS; i++)
		if (p->fd[i] == SYSTEM_PIPE)
			p->fd[i] = end;
}

static void
close_descriptors(const struct program *p)
{
	for (int i = 0; i < PROGRAM_FDS; i++)
		if (p->fd[i] != PROGRAM_NULL)
			(void)close(p->fd[i]);
}

/* Rounded up. */
static unsigned int
seconds_left(int64_t deadline)
{
	const int64_t left = deadline - io_deadline(0);

	return left > 0 ? (unsigned int)((left + 999) / 1000) : 0;
}

int
system_run(struct program *p, unsigned int seconds, char *text, size_t cap,
    int *statusp)
{
	const int64_t deadline = io_deadline(seconds);
	struct start start = { .text = text, .cap = cap };
	struct program_process process;
	int ends[2], error;

	text[0] = '\0';
	if (pipe2(ends, O_CLOEXEC) == -1)
		return errno;
	place_pipe(p, ends[1]);
	p->dies_with_us = true;
	p->no_new_privs = true;
	p->file = program;
	/* A script starts others. */
	p->before_exec = is_plain ? refuse_starting : NULL;
	error = program_start(p, &process) ? 0 : errno;
	close_descriptors(p);
	if (error == 0) {
		error = program_read(ends[0], seconds, keep_start, &start);
		if (error == 0 &&
		    !program_ends(&process, seconds_left(deadline)))
			error = ETIMEDOUT;
		if (error != 0)
			program_kill(&process);
		else
			error = program_wait(&process, statusp);
	}
	close(ends[0]);
	return error;
}
