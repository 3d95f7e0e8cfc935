/* SPDX-License-Identifier: ISC */
/*
 * log_lines/log_lines: reads a log line by line: a file, which may be gzip or
 * xz, or what journalctl prints. Memory does not grow with the log.
 */
#ifndef CLI_LOG_LINES_LOG_LINES_H
#define CLI_LOG_LINES_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A longer line is left out: no program that is looked for writes one. */
#define LOG_LINE_BYTES 16384
#define LOG_WHY_BYTES 256

struct log_lines {
	/*
	 * Gets each line without its line end, and with a NUL behind it. A NUL
	 * within became a blank: a crash, or a rotation in place, leaves NULs
	 * before a line.
	 */
	void (*line)(char *line, size_t len, void *arg);
	/* Is called before each time that more of fd is read. */
	void (*more)(int fd, void *arg);
	void *arg;
};

/*
 * Reads all lines behind fd, from where it stands. fd stays open. False with
 * why; the lines before that were given.
 */
bool log_lines_read(const struct log_lines *l, int fd,
    char why[static LOG_WHY_BYTES]);

#endif
