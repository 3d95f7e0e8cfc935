/* SPDX-License-Identifier: ISC */
/* logs/login_logs: finds and reads the logs in which sshd tells of logins. */
#ifndef CLI_LOGS_LOGIN_LOGS_H
#define CLI_LOGS_LOGIN_LOGS_H

#include "logs/logins.h"
#include "reading/log_records.h"

/* All zeroes: none. */
struct login_logs {
	char **name; /* as they are printed; struct logins refers to them */
	size_t n;
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
 * else the journal since the machine was started. What cannot be read is a
 * problem in r. In the end prints one line about all on standard error, unless
 * r->quiet. False after a message, if out of memory.
 */
bool login_logs_read(struct login_logs *logs, struct logins *l,
    struct report *r, const char *const *name, size_t n);

/*
 * Reads the journal of this machine, the last entry first, for as long as
 * seconds. Without one, or if it fails, does nothing. Returns whether all of it
 * was read.
 */
bool login_logs_read_newest(struct logins *l, unsigned int seconds);

/* Who gets each login, also by a method without a key. */
struct login_taker {
	int64_t since; /* earlier ones may be left out */
	/*
	 * sent: journald has seen that sshd sent it. Any account may have
	 * written another one.
	 */
	void (*login)(const struct reading_login *l, bool sent, void *arg);
	void *arg;
};

/*
 * As login_logs_read, but gives the logins to t, and prints no line about all.
 * Without a name it reads the journal, on disk or not, before text logs.
 */
bool login_logs_give(struct login_logs *logs, const struct login_taker *t,
    struct report *r, const char *const *name, size_t n);

void login_logs_free(struct login_logs *logs);

#endif
