/* SPDX-License-Identifier: ISC */
/*
 * For LD_PRELOAD: makes one allocation fail, or that one and all after it.
 *
 *   FAILALLOC_AT=N     the Nth fails
 *   FAILALLOC_FROM=N   the Nth and all later ones fail
 *   FAILALLOC_IN=NAME  counted is only what this program, or this library, asks
 *                      for or makes others ask for
 *   FAILALLOC_HOLD=1   nothing is counted until failalloc_arm(1)
 *   FAILALLOC_FD=FD    "!" is written there when the first one fails, and after
 *                      a crash "crash" with the functions that were running,
 *                      the innermost first, as OBJECT:FUNCTION
 *
 * Counted are malloc, calloc, realloc, reallocarray and the aligned ones.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES 40

/* glibc's own names for what is replaced here. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

void failalloc_arm(int on);

static volatile int armed, reported, report_fd = -1;
static volatile unsigned long count, at, from;
static const char *within;
static _Thread_local int looking;

static unsigned long
number(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? strtoul(text, NULL, 10) : 0;
}

static void
say(const char *text)
{
	if (report_fd != -1)
		(void)!write(report_fd, text, strlen(text));
}

static const char *
object_name(const Dl_info *info)
{
	const char *slash = strrchr(info->dli_fname, '/');

	return slash != NULL ? slash + 1 : info->dli_fname;
}

static void
on_crash(int sig)
{
	void *frame[FRAMES];
	Dl_info info;
	int n;

	armed = 0;
	n = backtrace(frame, FRAMES);
	say("crash");
	for (int i = 0; i < n; i++) {
		if (dladdr(frame[i], &info) == 0)
			continue;
		say(" ");
		say(object_name(&info));
		say(":");
		say(info.dli_sname != NULL ? info.dli_sname : "?");
	}
	/* The handler was reset. */
	raise(sig);
}

__attribute__((constructor)) static void
start(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL };
	struct sigaction sa = { .sa_handler = on_crash,
		.sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };
	void *frame[FRAMES];

	at = number("FAILALLOC_AT");
	from = number("FAILALLOC_FROM");
	within = getenv("FAILALLOC_IN");
	if (getenv("FAILALLOC_FD") == NULL)
		return;
	report_fd = (int)number("FAILALLOC_FD");
	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		sigaction(crashes[i], &sa, NULL);
	/* The first time it loads a library. */
	(void)backtrace(frame, FRAMES);
	armed = getenv("FAILALLOC_HOLD") == NULL;
}

void
failalloc_arm(int on)
{
	armed = on;
}

/* Whether the program or library of interest is at work. */
static int
is_of_interest(void)
{
	void *frame[FRAMES];
	Dl_info info;
	int n, found = 0;

	if (within == NULL)
		return 1;
	if (looking)
		return 0;
	looking = 1;
	n = backtrace(frame, FRAMES);
	for (int i = 0; i < n && !found; i++)
		found = dladdr(frame[i], &info) != 0 &&
		    strcmp(object_name(&info), within) == 0;
	looking = 0;
	return found;
}

static int
fails(void)
{
	unsigned long n;

	if (!armed || !is_of_interest())
		return 0;
	n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (n != at && (from == 0 || n < from))
		return 0;
	if (!reported)
		say("!");
	reported = 1;
	errno = ENOMEM;
	return 1;
}

void *
malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

void *
reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

void *
memalign(size_t align, size_t size)
{
	return fails() ? NULL : __libc_memalign(align, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int
posix_memalign(void **pp, size_t align, size_t size)
{
	int saved = errno;
	void *p = memalign(align, size);

	errno = saved;
	if (p == NULL)
		return ENOMEM;
	*pp = p;
	return 0;
}
