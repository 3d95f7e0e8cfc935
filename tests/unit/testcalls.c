/* SPDX-License-Identifier: ISC */
/*
 * System calls and allocations that fail where a test wants it. All are weak,
 * because a test may have one of its own.
 */
/* Its inline functions would stand where these do. */
#undef _FORTIFY_SOURCE

#include "testlib.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>

#define WEAK __attribute__((weak))
#define NO_ASAN __attribute__((no_sanitize("address", "undefined")))

static int to_interrupt;
static struct {
	const char *name;
	int nth, error;
} failing;

void
interrupt_calls(int calls)
{
	to_interrupt = calls;
}

int
calls_to_interrupt(void)
{
	return to_interrupt;
}

void
fail_call(const char *name, int nth, int error)
{
	failing.name = name;
	failing.nth = nth;
	failing.error = error;
}

bool
call_has_failed(void)
{
	return failing.name != NULL && failing.nth <= 0;
}

static bool
fails(const char *name)
{
	if (failing.name == NULL || strcmp(failing.name, name) != 0 ||
	    --failing.nth != 0)
		return false;
	errno = failing.error;
	return true;
}

static bool
is_interrupted(void)
{
	if (to_interrupt == 0)
		return false;
	to_interrupt--;
	errno = EINTR;
	return true;
}

/*
 * The next definition of a function behind this one: that of the sanitizer, or
 * of libc. A function pointer is written through the pointer to it.
 */
NO_ASAN static void
find_next(void *functionp, const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	__builtin_memcpy(functionp, &next, sizeof(next));
}

WEAK ssize_t
read(int fd, void *p, size_t len)
{
	return is_interrupted() || fails("read") ?
	    -1 :
	    syscall(SYS_read, fd, p, len);
}

WEAK ssize_t
write(int fd, const void *p, size_t len)
{
	return is_interrupted() || fails("write") ?
	    -1 :
	    syscall(SYS_write, fd, p, len);
}

/* On ARM the kernel has 64 bits in an even register and the next. */
#ifdef __arm__
#define OFFSET(o) 0, (long)(o), (long)((o) >> 32)
#else
#define OFFSET(o) (o)
#endif

ssize_t
test_pread(int fd, void *p, size_t len, off_t offset)
{
	return syscall(SYS_pread64, fd, p, len, OFFSET(offset));
}

WEAK ssize_t
pread(int fd, void *p, size_t len, off_t offset)
{
	return is_interrupted() || fails("pread") ?
	    -1 :
	    test_pread(fd, p, len, offset);
}

static off_t
seek(int fd, off_t offset, int whence)
{
#ifdef SYS__llseek
	off_t at;

	return syscall(SYS__llseek, fd, (long)(offset >> 32), (long)offset, &at,
		   whence) == 0 ?
	    at :
	    -1;
#else
	return syscall(SYS_lseek, fd, offset, whence);
#endif
}

WEAK off_t
lseek(int fd, off_t offset, int whence)
{
	return fails("lseek") ? -1 : seek(fd, offset, whence);
}

static int
open_at(const char *name, int dir, const char *path, int flags, mode_t mode)
{
	return fails(name) ?
	    -1 :
	    (int)syscall(SYS_openat, dir, path, flags | O_LARGEFILE, mode);
}

static mode_t
mode_of(int flags, va_list ap)
{
	return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0;
}

WEAK int
open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_at("open", AT_FDCWD, path, flags, mode);
}

WEAK int
openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;

	va_start(ap, flags);
	mode = mode_of(flags, ap);
	va_end(ap);
	return open_at("openat", dir, path, flags, mode);
}

/* What _FORTIFY_SOURCE makes of both without a mode. */
int __open_2(const char *path, int flags);
WEAK int
__open_2(const char *path, int flags)
{
	return open_at("open", AT_FDCWD, path, flags, 0);
}

int __openat_2(int dir, const char *path, int flags);
WEAK int
__openat_2(int dir, const char *path, int flags)
{
	return open_at("openat", dir, path, flags, 0);
}

/* With 32 bits the kernel's struct is another one. */
static int
stat_at(int dir, const char *path, struct stat *st, int flags)
{
#ifdef SYS_newfstatat
	return (int)syscall(SYS_newfstatat, dir, path, st, flags);
#else
	static int (*next)(int, const char *, struct stat *, int);

	if (next == NULL)
		find_next(&next, "__fstatat64_time64");
	return next(dir, path, st, flags);
#endif
}

WEAK int
fstat(int fd, struct stat *st)
{
	return fails("fstat") ? -1 : stat_at(fd, "", st, AT_EMPTY_PATH);
}

WEAK int
stat(const char *path, struct stat *st)
{
	return fails("stat") ? -1 : stat_at(AT_FDCWD, path, st, 0);
}

WEAK int
fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return fails("fstatat") ? -1 : stat_at(dir, path, st, flags);
}

WEAK ssize_t
readlinkat(int dir, const char *path, char *target, size_t len)
{
	return fails("readlinkat") ?
	    -1 :
	    syscall(SYS_readlinkat, dir, path, target, len);
}

/* What _FORTIFY_SOURCE makes of it. */
ssize_t __readlinkat_chk(int dir, const char *path, char *target, size_t len,
    size_t cap);
WEAK ssize_t
__readlinkat_chk(int dir, const char *path, char *target, size_t len,
    size_t cap)
{
	(void)cap;
	return readlinkat(dir, path, target, len);
}

WEAK struct dirent *
readdir(DIR *dir)
{
	static struct dirent *(*next)(DIR *);

	if (next == NULL)
		find_next(&next,
		    sizeof(off_t) > sizeof(long) ? "readdir64" : "readdir");
	return fails("readdir") ? NULL : next(dir);
}

/*
 * Allocations. The loader calls these before a sanitizer is ready, so nothing
 * watches them. What it keeps is no leak: the leak search knows that by itself
 * only of what the loader asks for without these functions in between.
 */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
	return "leak:ld-linux\n";
}

NO_ASAN static bool
has_no_memory(const char *name)
{
	return failing.name != NULL && fails(name);
}

NO_ASAN WEAK void *
malloc(size_t len)
{
	static void *(*next)(size_t);

	if (next == NULL)
		find_next(&next, "malloc");
	return has_no_memory("malloc") ? NULL : next(len);
}

NO_ASAN WEAK void *
calloc(size_t n, size_t len)
{
	static void *(*next)(size_t, size_t);

	if (next == NULL)
		find_next(&next, "calloc");
	return has_no_memory("calloc") ? NULL : next(n, len);
}

NO_ASAN WEAK void *
realloc(void *p, size_t len)
{
	static void *(*next)(void *, size_t);

	if (next == NULL)
		find_next(&next, "realloc");
	return has_no_memory("realloc") ? NULL : next(p, len);
}

NO_ASAN WEAK void *
reallocarray(void *p, size_t n, size_t len)
{
	static void *(*next)(void *, size_t, size_t);

	if (next == NULL)
		find_next(&next, "reallocarray");
	return has_no_memory("reallocarray") ? NULL : next(p, n, len);
}
