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

static bool is_plain, is_root;

int
system_copy(int fd, off_t most)
{
	const int copy = memfd_create("file", MFD_CLOEXEC);
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

/* Whether it is a program, and no script or link that leads elsewhere. */
static bool
is_program(const char *path)
{
	static const char magic[] = "\177ELF";
	char start[sizeof(magic)] = "";
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd == -1)
		return errno == ENOENT;
	(void)!read(fd, start, sizeof(magic) - 1);
	close(fd);
	return strcmp(start, magic) == 0;
}

unsigned int
system_enter(const struct system *s)
{
	const char *path[PATHS_MAX] = { s->program };
	struct wall_kept kept = {
		.memory = s->memory,
		.reads_as_root = s->reads_as_root,
		.path = path,
		.n_paths = 1,
		.executes = true,
		.writes = s->written != 0,
	};
	unsigned int walls;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		path[kept.n_paths++] = needed[i];
	for (size_t i = 0; i < s->n_paths && kept.n_paths < PATHS_MAX; i++)
		path[kept.n_paths++] = s->path[i];
	is_plain = !s->has_more && is_program(s->program);
	is_root = s->reads_as_root;
	if (!is_plain) {
		kept.path = all;
		kept.n_paths = sizeof(all) / sizeof(all[0]);
		kept.connects = true;
	}
	walls = wall_enter(&kept);
	/* ssh-keygen reads no key of its account that others may read. */
	if (s->written != 0)
		(void)fchmod(s->written, 0600);
	return walls | wall_deny_calls(&kept);
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
	p->before_exec = !is_plain ? NULL :
	    is_root		   ? wall_deny_processes_and_writing :
				     wall_deny_processes;
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
