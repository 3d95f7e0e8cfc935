/* SPDX-License-Identifier: ISC */
/*
 * logs/connected: the connections that are open, by the lines of logs about the
 * processes of sshd that let them in. Memory grows with these processes and the
 * keys that are looked for, and not with the log.
 */
#ifndef CLI_LOGS_CONNECTED_H
#define CLI_LOGS_CONNECTED_H

#include "reading/log_records.h"

/* A line that a process of sshd's wrote, which serves the connection still. */
struct connected_line {
	uint64_t process;
	uint64_t start; /* of the process, in ticks since the machine's start */
	int64_t seconds;
	struct accepted a;
	bool wanted; /* its key, or its CA, is looked for */
	/*
	 * sent: journald has seen that sshd sent it. Any account may have
	 * written another one.
	 */
	bool sent;
	const char *log; /* the caller's */
};

/* All zeroes: none. v is freed with free(3). */
struct connected {
	struct connected_line *v;
	size_t n;
};

/*
 * Adds a line, unless its process has ended, is not root's sshd that serves a
 * connection of the line's account, or was started after the line was written.
 * Sets *addedp. False without memory.
 */
bool connected_add(struct connected *c, const struct connected_line *line,
    bool *addedp);

/*
 * Whether the process is still there, and sshd did not send other lines of it
 * than this one.
 */
bool connected_counts(const struct connected *c,
    const struct connected_line *line);

/* Why it may be that another account has made the line up; or NULL. */
const char *connected_find_doubt(const struct connected *c,
    const struct connected_line *line);

#endif
