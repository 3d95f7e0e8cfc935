/* SPDX-License-Identifier: ISC */
/* logger: sends the guard's lines to syslog, also without a new socket. */
#ifndef GUARD_LOGGER_H
#define GUARD_LOGGER_H

#define GUARD_IDENT "keyveto-authorized-keys"

/* As openlog(3). */
void guard_log_init(int facility);

/*
 * Connects to syslogd ahead, so that guard_log needs no call that opens
 * anything. If there is no syslogd, lines are lost, as they are without this.
 */
void guard_log_connect(int facility);

/* As syslog(3). line is no format. */
void guard_log(int priority, const char *line);

#endif
