/* SPDX-License-Identifier: ISC */
/*
 * own_syslog: in the place of libc's, for one file of a test. What is logged goes
 * to its note_syslog, which is declared before.
 */
#ifndef OWN_SYSLOG_H
#define OWN_SYSLOG_H

#include <stdarg.h>
#include <syslog.h>

/* With _FORTIFY_SOURCE clang has a macro of this name. */
#undef syslog
void
syslog(int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	note_syslog(priority, fmt, ap);
	va_end(ap);
}

/* What _FORTIFY_SOURCE makes of syslog. A later clang takes the second. */
__attribute__((format(printf, 3, 4))) void __syslog_chk(int priority, int flag,
    const char *fmt, ...);
void
__syslog_chk(int priority, int flag, const char *fmt, ...)
{
	va_list ap;

	(void)flag;
	va_start(ap, fmt);
	note_syslog(priority, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 3, 0))) void __vsyslog_chk(int priority, int flag,
    const char *fmt, va_list ap);
void
__vsyslog_chk(int priority, int flag, const char *fmt, va_list ap)
{
	(void)flag;
	note_syslog(priority, fmt, ap);
}

#endif
