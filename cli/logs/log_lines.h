/* SPDX-License-Identifier: ISC */
/*
 * logs/log_lines: reads a log line by line: a file, which may be gzip or xz, or
 * what journalctl prints. Memory does not grow with the log.
 */
#ifndef CLI_LOGS_LOG_LINES_H
#define CLI_LOGS_LOG_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNALCTL "/usr/bin/journalctl"
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
	void *arg;
	int64_t deadline; /* of io_deadline, for the whole; 0: none */
};

/*
 * Reads all lines behind fd, from where it stands. fd stays open. False with
 * why; the lines before that were given.
 */
bool log_lines_read(const struct log_lines *l, int fd,
    char why[static LOG_WHY_BYTES]);

/*
 * Runs JOURNALCTL with these arguments, the first being JOURNALCTL itself, and
 * reads what it prints. err is the descriptor of its standard error, or
 * PROGRAM_NULL. Exit status 1 is no error with none_is_1: journalctl --grep ends
 * with it if no entry matches. False with why.
 */
bool log_lines_read_journal(const struct log_lines *l, const char *const *argv,
    int err, bool none_is_1, char why[static LOG_WHY_BYTES]);

#endif
