/* SPDX-License-Identifier: ISC */
/*
 * host/program: the only place where keyveto starts another program. struct
 * program lists what the program gets. It inherits no other descriptor, and no
 * variable unless env says so.
 */
#ifndef CLI_HOST_PROGRAM_H
#define CLI_HOST_PROGRAM_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "host/accounts.h"

/* Descriptors that a program can be given: 0 to 4. */
#define PROGRAM_FDS 5

/* In fd[]: descriptors 0, 1 and 2 become /dev/null; 3 and 4 are closed. */
#define PROGRAM_NULL (-1)

/* For env. After su, PATH in root's own environment may be another user's. */
#define PROGRAM_PATH "PATH=/usr/sbin:/usr/bin:/sbin:/bin"

struct program {
	const char *const *argv; /* argv[0] is an absolute path */
	/*
	 * An open file that is executed in the place of argv[0], which is if that
	 * fails. 0: none.
	 */
	int file;
	/*
	 * NULL: PROGRAM_PATH and LC_ALL=C. environ: our own environment; a name
	 * without a slash in argv[0] is then looked up in PATH (for $EDITOR).
	 */
	char *const *env;
	const struct account *as; /* the account it runs as; NULL: ours */
	int fd[PROGRAM_FDS];	  /* our descriptors for its 0 to 4 */
	bool dies_with_us;	  /* killed when this thread ends */
	bool no_new_privs;	  /* PR_SET_NO_NEW_PRIVS of prctl(2) */
	/* How long a file may be that it writes; NULL: as long as ours. */
	const uint64_t *file_bytes;
	/* Called with argv[0] in its process before exec. NULL: nothing is. */
	void (*before_exec)(const char *path);
};

/*
 * Lowers a limit of this process and those that it starts (setrlimit(2)), who
 * cannot raise it again.
 */
void program_limit(int resource, uint64_t most);

/* Sets all of p->fd: the three standard descriptors, and nothing else. */
void program_fds(struct program *p, int in, int out, int err);

/* A started program. Always end it by program_wait or program_kill. */
struct program_process {
	pid_t pid;
	int failure; /* pipe: errno, if exec failed */
};

/*
 * Starts the program. False with errno if no process could be made. If the
 * program cannot be executed, program_wait says so.
 */
bool program_start(const struct program *p, struct program_process *process);

/*
 * Waits until the program was executed. Returns 0, or the errno of what failed
 * before or in exec: then the process has ended.
 */
int program_started(struct program_process *process);

/*
 * Waits for the end of the program. Returns 0 and sets *statusp as waitpid(2)
 * does, or returns the errno of what failed before or in exec, or of waitpid.
 */
int program_wait(struct program_process *process, int *statusp);

/* Tells if the program ends within so many seconds. program_wait is still due. */
bool program_ends(const struct program_process *process, unsigned int seconds);

/* Kills the program. Waits for its end as child_kill does. */
void program_kill(struct program_process *process);

/* program_start, then program_wait. Returns the errno of either. */
int program_run(const struct program *p, int *statusp);

/*
 * Reads fd to its end, and calls take for each piece. seconds limits the whole.
 * Returns 0, ETIMEDOUT, the errno of read(2), or the first value of take that
 * was not 0. The descriptor stays the caller's.
 */
int program_read(int fd, unsigned int seconds,
    int (*take)(const void *p, size_t len, void *arg), void *arg);

#endif
