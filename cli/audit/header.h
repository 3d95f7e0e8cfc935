/* SPDX-License-Identifier: ISC */
/*
 * audit/header: the first and the last line of keyveto audit --json. The first
 * tells of which host the audit is, by which lists its keys were judged, and
 * whether sshd asks keyveto. An audit without the last line was cut off.
 */
#ifndef CLI_AUDIT_HEADER_H
#define CLI_AUDIT_HEADER_H

#include "reading/judging.h"
#include "sshd_config/sshd_config.h"

/* Of keyveto audit. */
struct audit_options {
	struct report_options report;
	struct sshd sshd;
	const char **user; /* those of --user */
	size_t n_users;	   /* 0: all accounts, and the host keys */
	uint64_t timeout;
	bool logins;
	const char **log; /* none: those of this machine */
	size_t n_logs;
};

/*
 * Has every filter and list read to its end, and makes all checks of keyveto
 * doctor, if run as root. Prints the first line. judging is NULL if there is
 * none. False after a message.
 */
bool audit_header_print(const struct audit_options *o,
    const struct judging *judging, int64_t now);

/*
 * Prints the last line: the totals and the exit status. reason says why no key
 * was judged; NULL: keys were. False after a message.
 */
bool audit_end_print(const struct report *r, size_t accounts, int status,
    const char *reason);

#endif
