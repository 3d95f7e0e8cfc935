/* SPDX-License-Identifier: ISC */
/*
 * audit/journal_line: an entry of the journal, as journalctl --output=json
 * prints it (systemd.journal-fields(7)).
 */
#ifndef CLI_AUDIT_JOURNAL_LINE_H
#define CLI_AUDIT_JOURNAL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields that are read, for --output-fields. */
#define JOURNAL_FIELDS_OPTION \
	"--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_UID,_COMM,_EXE,_TRANSPORT"

/* Longer than any message of sshd's. */
#define JOURNAL_MESSAGE_BYTES 1024

enum journal_origin {
	JOURNAL_OTHER,	/* no entry, or no program that root ran as sshd */
	JOURNAL_STDERR, /* of sshd -e, which escapes no line end: log.c:do_log */
	JOURNAL_SSHD,
};

/*
 * Sets message and *secondsp. journald itself writes the fields that begin with
 * "_", by what the kernel says of the sender: SYSLOG_IDENTIFIER alone is what
 * any account can write with logger(1).
 */
enum journal_origin journal_line_parse(const char *line, size_t len,
    char message[static JOURNAL_MESSAGE_BYTES], int64_t *secondsp);

/* The time of an entry, from its text alone. False if it has none. */
bool journal_line_time(const char *line, int64_t *secondsp);

#endif
