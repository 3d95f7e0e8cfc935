/* SPDX-License-Identifier: ISC */
/*
 * host/program: the one place where keyveto starts another program. What the
 * program gets is listed in a struct; it inherits nothing else: no descriptor,
 * no variable.
 */
#ifndef CLI_HOST_PROGRAM_H
#define CLI_HOST_PROGRAM_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "host/accounts.h"

/* Descriptors that a program can be given: 0 to 4. */
#define PROGRAM_FDS 5

/* In fd[]: /dev/null as 0, 1 and 2, closed as 3 and 4. */
#define PROGRAM_NULL (-1)

/* A PATH for env: root's own may be somebody else's, after su. */
#define PROGRAM_PATH "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

struct program {
	const char *const *argv; /* argv[0] is an absolute path */
	/*
	 * NULL: PROGRAM_PATH and LC_ALL=C. environ: as ours, and a name without
	 * a slash is looked up in PATH (the administrator's editor).
	 */
	char *const *env;
	const struct account *as; /* whom it runs as; NULL: as we do */
	int fd[PROGRAM_FDS];	  /* ours that become 0, 1, 2, 3, 4 */
	bool dies_with_us;	  /* it is killed when this thread ends */
	bool no_new_privs;	  /* as prctl(2) has it */
	bool has_terminal;	  /* ^C is for it alone: program_run */
};

/* Sets fd[] of a program that gets the three standard descriptors alone. */
void program_fds(struct program *p, int in, int out, int err);

/* A program that was started. Always end it with program_wait. */
struct program_process {
	pid_t pid;
	int failure; /* a pipe: errno, if it cannot be executed */
};

/* Starts the program. False with errno if there can be no process. */
bool program_start(const struct program *p, struct program_process *process);

/*
 * Waits for the end of the program. Returns 0 and sets *statusp as waitpid(2)
 * does, or returns the errno for which it could not be executed.
 */
int program_wait(struct program_process *process, int *statusp);

/* Kills the program, and waits for its end. */
void program_kill(struct program_process *process);

/* Starts the program and waits for its end, as program_wait does. */
int program_run(const struct program *p, int *statusp);

/*
 * Reads fd until its end, and calls take with what comes. seconds bounds the
 * whole. Returns 0, ETIMEDOUT, another errno, or what take returned if that was
 * not 0.
 */
int program_read(int fd, unsigned int seconds,
    int (*take)(const void *p, size_t len, void *arg), void *arg);

#endif
