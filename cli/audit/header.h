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

struct audit_header {
	const struct cli_judge_options *options;
	const struct judging *judging; /* NULL: there is none */
	const struct sshd *sshd;
	const char *const *user; /* those of --user */
	size_t n_users;		 /* 0: all accounts, and the host keys */
	bool all;		 /* keys that are not listed are printed too */
	int64_t now;
};

/*
 * Has every filter and list read to its end, and makes all checks of keyveto
 * doctor, if run as root. Prints the first line. False after a message.
 */
bool audit_header_print(const struct audit_header *h);

/*
 * Prints the last line: the totals and the exit status. reason says why no key
 * was judged; NULL: keys were. False after a message.
 */
bool audit_end_print(const struct report *r, size_t accounts, int status,
    const char *reason);

#endif
