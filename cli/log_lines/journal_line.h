/* SPDX-License-Identifier: ISC */
/*
 * log_lines/journal_line: an entry of the journal, as journalctl --output=json
 * prints it (systemd.journal-fields(7)).
 */
#ifndef CLI_LOG_LINES_JOURNAL_LINE_H
#define CLI_LOG_LINES_JOURNAL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields that are read, for --output-fields. */
#define JOURNAL_FIELDS_OPTION \
	("--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_UID,_COMM,_EXE,_TRANSPORT," \
	 "_PID,_SYSTEMD_UNIT")

/* Longer than any message of sshd's. */
#define JOURNAL_MESSAGE_BYTES 1024

enum journal_origin {
	JOURNAL_OTHER, /* no entry, or no program that root ran as sshd */
	/*
	 * By root, and nothing shows by which program: the process had ended,
	 * or was about to, when journald looked. A program that runs as root
	 * for anybody may log under a name, and a text, that they choose.
	 */
	JOURNAL_UNKNOWN,
	JOURNAL_STDERR, /* of sshd -e, which escapes no line end: log.c:do_log */
	JOURNAL_SSHD,
};

/*
 * Sets message, *secondsp and *processp (0: not known). journald itself writes
 * the fields that begin with "_", by what the kernel says of the sender:
 * SYSLOG_IDENTIFIER alone is what any account can write with logger(1).
 */
enum journal_origin journal_line_parse(const char *line, size_t len,
    char message[static JOURNAL_MESSAGE_BYTES], int64_t *secondsp,
    uint64_t *processp);

/* The time of an entry, from its text alone. False if it has none. */
bool journal_line_time(const char *line, int64_t *secondsp);

#endif
