/* SPDX-License-Identifier: ISC */
/*
 * system: starts a program of the system's that reads what others wrote, with
 * less power than it would have.
 */
#ifndef WORKER_SYSTEM_H
#define WORKER_SYSTEM_H

#include "host/program.h"
#include "wall/enter.h"

/* In fd[] of struct program: the pipe of system_run. */
#define SYSTEM_PIPE (-2)

struct system {
	const char *program;
	/*
	 * It asks for more files than path has, and for sockets: who asks a
	 * directory server for the account needs those.
	 */
	bool has_more;
	/* As of struct wall_kept; and with can_read it opens nothing for writing. */
	const char *group;
	bool (*can_read)(void);
	/* What it reads, besides what any program does. */
	const char *const *path;
	size_t n_paths;
	uint64_t memory;
};

/* Whether /etc/passwd has the account of an ordinary user. */
bool system_has_account(void);

/*
 * Copies a file, up to so many bytes, into memory, where the account of the
 * walls may open it by its number. -1 with errno.
 */
int system_copy(int fd, off_t most);

/*
 * Builds the walls. A script, which could start anything, has more. Returns the
 * walls that stand.
 */
unsigned int system_enter(const struct system *s);

/*
 * Runs a program with its words and descriptors, which are closed here. Of what
 * comes out of the pipe, the first cap - 1 bytes are kept in text, which a NUL
 * follows. Returns 0, with its status of waitpid(2), or an errno: ETIMEDOUT if
 * it has not ended after so many seconds.
 */
int system_run(struct program *p, unsigned int seconds, char *text, size_t cap,
    int *statusp);

#endif
