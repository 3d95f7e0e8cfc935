/* SPDX-License-Identifier: ISC */
/* logs/login_logs: finds and reads the logs in which sshd tells of logins. */
#ifndef CLI_LOGS_LOGIN_LOGS_H
#define CLI_LOGS_LOGIN_LOGS_H

#include "base/texts.h"
#include "logs/logins.h"

/* All zeroes: none. */
struct login_logs {
	struct texts names; /* as printed; struct logins refers to them */
	struct login_file { /* those that were read, once each */
		uint64_t dev, ino;
	} * file;
	size_t n_files;
};

/*
 * Reads logs: "journal", text logs, which may be gzip or xz, what journalctl
 * --output=json printed, journal files, and directories of these. "-" is
 * standard input. Without a name (n is 0) reads the journal if it is kept on
 * disk; else /var/log/auth.log and /var/log/secure with their rotated files;
 * else the journal since the machine was started, which also tells beside text
 * logs whose connections are open. What cannot be read is a problem in r. Unless
 * r->quiet, prints a line about all. False after a message, without memory.
 */
bool login_logs_read(struct login_logs *logs, struct logins *l,
    struct report *r, const char *const *name, size_t n);

/*
 * Reads the journal of this machine, the last entry first, for as long as
 * seconds. Without one, or if it fails, does nothing. Returns whether all of it
 * was read.
 */
bool login_logs_read_newest(struct logins *l, unsigned int seconds);

void login_logs_free(struct login_logs *logs);

#endif
