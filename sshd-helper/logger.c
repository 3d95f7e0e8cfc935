/* SPDX-License-Identifier: ISC */
#include "logger.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <paths.h>
#include <stdio.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "kv_log.h"

static int syslogd = -1;

void
guard_log_init(int facility)
{
	openlog(GUARD_IDENT, LOG_PID, facility);
}

void
guard_log_connect(int facility)
{
	const struct sockaddr_un to = { AF_UNIX, _PATH_LOG };

	syslogd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (syslogd == -1 ||
	    connect(syslogd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return;
	close(syslogd);
	syslogd = -1;
	/* Some syslogd has a stream, which only libc knows to use. */
	if (errno == EPROTOTYPE) {
		tzset();
		openlog(GUARD_IDENT, LOG_PID | LOG_NDELAY, facility);
	}
}

/*
 * syslog(3) would read the time zone first, which takes half as long as a login
 * can wait for all of this. So the datagram has no time, and syslogd takes that
 * of its arrival, as most do anyway.
 */
void
guard_log(int priority, const char *line)
{
	char datagram[KV_LOG_LINE_BYTES + 64];
	int len;

	if (syslogd == -1) {
		syslog(priority, "%s", line);
		return;
	}
	len = snprintf(datagram, sizeof(datagram),
	    "<%d>" GUARD_IDENT "[%ld]: %s", priority, (long)getpid(), line);
	if (len > 0 && (size_t)len < sizeof(datagram))
		(void)send(syslogd, datagram, (size_t)len, MSG_NOSIGNAL);
}
