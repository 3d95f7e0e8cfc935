/* SPDX-License-Identifier: ISC */
/*
 * log_lines/syslog_line: takes the line of a text log apart, and finds the year
 * of lines that have none. Two forms of time are read:
 *   Nov 23 13:20:00 host sshd[123]: message             local time, no year
 *   2026-11-23T13:20:00.123456+00:00 host sshd[123]: message       (RFC 3339)
 */
#ifndef CLI_LOG_LINES_SYSLOG_LINE_H
#define CLI_LOG_LINES_SYSLOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct syslog_line {
	bool has_year, has_offset;
	int year, month, day; /* month from 1; year only with has_year */
	int hour, minute, second;
	int offset; /* seconds east of UTC; without has_offset local time */
	/* The program's name, without its process id; "" without one. */
	const char *program;
	size_t program_len;
	uint64_t process;    /* 0: the line does not tell */
	const char *message; /* the rest of the line; "" without a program */
};

/* False if the line does not begin with a valid time. Points into line. */
bool syslog_line_parse(const char *line, struct syslog_line *l);

/* Whether the program is sshd, or one of the processes that it starts. */
bool syslog_line_is_sshds(const struct syslog_line *l);

/*
 * Seconds since 1970, with this year if the line has none. False if there is no
 * such day in that year, or no such time.
 */
bool syslog_line_seconds(const struct syslog_line *l, int year,
    int64_t *secondsp);

/*
 * The years of a file's lines, of which two that follow each other are taken to
 * be less than half a year apart. Give it all lines, in their order. Then
 * syslog_years_end finds the year of the first. After syslog_years_begin the
 * same lines again, or more, get their years by syslog_years_find. All zeroes:
 * no line.
 */
struct syslog_years {
	bool any;
	int day;		 /* of the last line, in a leap year, from 0 */
	int64_t turns;		 /* how many years it is after the first line */
	bool dated;		 /* a line had a year of its own */
	int64_t first;		 /* the first line's year, as known so far */
	int64_t last_time;	 /* the latest of the lines with a year */
	struct syslog_line last; /* the last line without a year */
};

void syslog_years_add(struct syslog_years *y, const struct syslog_line *l);

/* modified is when the file was written last. */
void syslog_years_end(struct syslog_years *y, int64_t modified);

void syslog_years_begin(struct syslog_years *y);

/*
 * Adds a line, and sets *secondsp to its time: for one without a year, no later
 * than a day after the file was written last. False if the line has no such
 * time.
 */
bool syslog_years_find(struct syslog_years *y, const struct syslog_line *l,
    int64_t modified, int64_t *secondsp);

#endif
