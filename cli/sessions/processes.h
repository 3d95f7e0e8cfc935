/* SPDX-License-Identifier: ISC */
/* sessions/processes: the connections that are open now, by their processes. */
#ifndef CLI_SESSIONS_PROCESSES_H
#define CLI_SESSIONS_PROCESSES_H

#include "sessions/session.h"

/* A process, by its number and its start. */
struct process {
	pid_t pid, parent;
	uint64_t start; /* in ticks since the machine's start */
};

/* All zeroes: none. v is freed with free(3). */
struct processes {
	struct process *v;
	size_t n;
};

/* Adds all that there are. False with errno. */
bool processes_read(struct processes *p);

/*
 * Adds to below those of them that are pid's children, theirs, and so on. Sorts
 * p. False with errno.
 */
bool processes_find_below(struct processes *p, pid_t pid,
    struct processes *below);

/* Whether this process is still there. */
bool process_runs(const struct process *p);

/*
 * Adds each process of root's sshd that has let a connection in, and serves it.
 * For root. False with errno.
 */
bool processes_find_sessions(struct sessions *s);

/* Whether s is open, and as it was. */
bool processes_have_session(const struct session *s);

/* Whether the process has one of the session's sockets open. */
bool processes_share_socket(const struct process *p, const struct session *s);

#endif
