/* SPDX-License-Identifier: ISC */
/*
 * For LD_PRELOAD: makes read and write transfer fewer bytes than asked for.
 * The returned count is true: the rest is left for the next call.
 *
 *   SHORTIO_BYTES=M   at most M bytes
 *   SHORTIO_AT=N      in the Nth transfer only; in each one without this
 *   SHORTIO_FD=FD     "!" is written there when the first is cut short, "="
 *                     when the Nth is there and no longer than that
 *   SHORTIO_HOLD=1    nothing is counted until shortio_arm(1)
 *
 * Counted are the read, pread and write calls of the program and of libraries
 * other than libc.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

void shortio_arm(int on);
/* What read and pread become under _FORTIFY_SOURCE. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t cap);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t at, size_t cap);
ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t at, size_t cap);

static volatile int armed, report_fd = -1;
static volatile unsigned long count, at;
static volatile size_t bytes;

static unsigned long
number(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? strtoul(text, NULL, 10) : 0;
}

__attribute__((constructor)) static void
start(void)
{
	at = number("SHORTIO_AT");
	bytes = number("SHORTIO_BYTES");
	if (getenv("SHORTIO_FD") != NULL)
		report_fd = (int)number("SHORTIO_FD");
	armed = getenv("SHORTIO_BYTES") != NULL &&
	    getenv("SHORTIO_HOLD") == NULL;
}

void
shortio_arm(int on)
{
	armed = on && getenv("SHORTIO_BYTES") != NULL;
}

static size_t
cut(size_t n)
{
	unsigned long number_of_this;

	if (!armed)
		return n;
	number_of_this = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (at != 0 && number_of_this != at)
		return n;
	if (report_fd != -1 && (n > bytes || at != 0)) {
		(void)!syscall(SYS_write, report_fd, n > bytes ? "!" : "=", 1);
		report_fd = -1;
	}
	return n > bytes ? bytes : n;
}

ssize_t
read(int fd, void *buf, size_t n)
{
	return syscall(SYS_read, fd, buf, cut(n));
}

ssize_t
__read_chk(int fd, void *buf, size_t n, size_t cap)
{
	if (n > cap)
		abort();
	return read(fd, buf, n);
}

ssize_t
pread64(int fd, void *buf, size_t n, off64_t offset)
{
	return syscall(SYS_pread64, fd, buf, cut(n), offset);
}

ssize_t
pread(int fd, void *buf, size_t n, off_t offset)
{
	return pread64(fd, buf, n, offset);
}

ssize_t
__pread_chk(int fd, void *buf, size_t n, off_t offset, size_t cap)
{
	if (n > cap)
		abort();
	return pread64(fd, buf, n, offset);
}

ssize_t
__pread64_chk(int fd, void *buf, size_t n, off64_t offset, size_t cap)
{
	if (n > cap)
		abort();
	return pread64(fd, buf, n, offset);
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	return syscall(SYS_write, fd, buf, cut(n));
}
