/* SPDX-License-Identifier: ISC */
/* Starts a program that reads what others wrote. */
#include <sys/auxv.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "wall/wall.h"

/* The Makefile sets KV_LIBEXECDIR. */
#ifndef KV_LIBEXECDIR
#define KV_LIBEXECDIR "/usr/libexec"
#endif

/* How long a program that has nothing more to do may take to end. */
#define END_SECONDS 10

/* The path that was given to execve(2). */
static const char *
name_of_execve(void)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): getauxval(3) is made so. */
	return (const char *)getauxval(AT_EXECFN);
}

/*
 * The file of this process lies in a folder of the administrator's, or in a
 * build: the environment has no say in which program is started.
 */
static bool
find_beside(const char *name, char path[static PATH_MAX])
{
	char own[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	int len;

	if (n > 0)
		own[n] = '\0';
	/* Without /proc. */
	else if (realpath(name_of_execve(), own) == NULL)
		return false;
	len = snprintf(path, PATH_MAX, "%s/%s", dirname(own), name);
	return len > 0 && len < PATH_MAX && access(path, X_OK) == 0;
}

/*
 * Finds a program of ours: beside this one's file, or else in libexec/keyveto.
 * The environment has no say in it.
 */
static void
find_program(const char *name, char path[static PATH_MAX])
{
	if (!find_beside(name, path))
		snprintf(path, PATH_MAX, "%s/keyveto/%s", KV_LIBEXECDIR, name);
}

/* Returns 0 once the program runs, or the errno of what failed. */
static int
start_program(struct wall_process *w, const char *path, int orders, int answers,
    int errors, uint64_t file_bytes)
{
	static char *const nothing[] = { NULL };
	const char *const argv[] = { path, NULL };
	struct program p = {
		.argv = argv,
		.env = nothing,
		.dies_with_us = true,
		.no_new_privs = true,
		.file_bytes = &file_bytes,
	};

	program_fds(&p, orders, answers, errors);
#ifdef __SANITIZE_ADDRESS__
	if (errors == -1)
		p.fd[STDERR_FILENO] = STDERR_FILENO;
#endif
	return program_start(&p, &w->process) ?
	    program_started(&w->process) :
	    errno;
}

static void
close_all(struct wall_process *w)
{
	io_close(w->orders);
	io_close(w->answers);
	io_close(w->errors);
	w->orders = w->answers = w->errors = -1;
}

bool
wall_start(struct wall_process *w, const char *name, bool prints,
    uint64_t file_bytes, char why[static WALL_WHY_BYTES])
{
	char path[PATH_MAX];
	int orders[2] = { -1, -1 }, answers[2] = { -1, -1 };
	int errors[2] = { -1, -1 }, error;

	find_program(name, path);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, orders) ==
		-1 ||
	    pipe2(answers, O_CLOEXEC) == -1 ||
	    (prints && pipe2(errors, O_CLOEXEC) == -1))
		error = errno;
	else
		error = start_program(w, path, orders[1], answers[1], errors[1],
		    file_bytes);
	io_close(orders[1]);
	io_close(answers[1]);
	io_close(errors[1]);
	w->orders = orders[0];
	w->answers = answers[0];
	w->errors = errors[0];
	if (error == 0)
		return true;
	snprintf(why, WALL_WHY_BYTES, "cannot start %.300s: %s", path,
	    strerror(error));
	close_all(w);
	return false;
}

bool
wall_wait(struct wall_process *w, int *statusp)
{
	close_all(w);
	if (!program_ends(&w->process, END_SECONDS)) {
		program_kill(&w->process);
		return false;
	}
	return program_wait(&w->process, statusp) == 0;
}

void
wall_kill(struct wall_process *w)
{
	close_all(w);
	program_kill(&w->process);
}

const char *
wall_name(enum wall wall)
{
	switch (wall) {
	case WALL_ACCOUNT:
		return "account";
	case WALL_PRIVILEGES:
		return "privileges";
	case WALL_SECCOMP:
		return "seccomp";
	case WALL_LANDLOCK:
		break;
	}
	return "landlock";
}

void
wall_warn(const char *program, unsigned int missing)
{
	static unsigned int warned;

	/* Seccomp prevents all that Landlock does. */
	for (unsigned int w = WALL_ACCOUNT; w <= WALL_SECCOMP; w *= 2)
		if ((missing & ~warned & w) != 0)
			cli_error("warning: %s runs without the wall %s, which "
				  "this system refuses: see keyveto(1)",
			    program, wall_name((enum wall)w));
	warned |= missing;
}
