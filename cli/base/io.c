/* SPDX-License-Identifier: ISC */
#include "base/io.h"

#include <linux/fs.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define AT_CURRENT_OFFSET (-1)
/* Zeros are not written, in blocks of this size: a page on most systems. */
#define HOLE_BYTES 4096

ssize_t
io_read(int fd, void *p, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap && (n = read(fd, (char *)p + len, cap - len)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

bool
io_write(int fd, const void *p, size_t len)
{
	return io_write_at(fd, p, len, AT_CURRENT_OFFSET);
}

bool
io_write_at(int fd, const void *p, size_t len, off_t at)
{
	const char *bytes = p;

	while (len > 0) {
		ssize_t n = at == AT_CURRENT_OFFSET ?
		    write(fd, bytes, len) :
		    pwrite(fd, bytes, len, at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		bytes += n;
		len -= (size_t)n;
		if (at != AT_CURRENT_OFFSET)
			at += n;
	}
	return true;
}

bool
io_write_sparse_at(int fd, const void *p, size_t len, off_t at)
{
	const uint8_t *bytes = p;
	size_t done = 0; /* up to here, all is written or left out */

	for (size_t from = 0, n; from < len; from += n) {
		n = HOLE_BYTES - (size_t)((at + (off_t)from) % HOLE_BYTES);
		if (n > len - from)
			n = len - from;
		/* All zero: the first byte, and each equals the one before. */
		if (bytes[from] != 0 ||
		    memcmp(bytes + from, bytes + from + 1, n - 1) != 0)
			continue;
		if (!io_write_at(fd, bytes + done, from - done,
			at + (off_t)done))
			return false;
		done = from + n;
	}
	return io_write_at(fd, bytes + done, len - done, at + (off_t)done);
}

bool
io_copy(int from, off_t at, size_t len, int to)
{
	while (len > 0) {
		const ssize_t n = sendfile(to, from, &at, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return false;
		len -= (size_t)n;
	}
	return true;
}

int
io_reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void
io_close(int fd)
{
	const int error = errno;

	if (fd != -1)
		close(fd);
	errno = error;
}

bool
io_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool
io_is_named(int fd, int dir, const char *name)
{
	struct stat its, named;

	return fstat(fd, &its) == 0 &&
	    fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    io_is_same(&its, &named);
}

bool
io_lock(int fd)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &whole) == 0)
		return true;
	if (errno == EACCES || errno == EAGAIN)
		errno = EWOULDBLOCK;
	return false;
}

/* More than a process of ours opens. */
#define NUMBERS_MAX 65536

static bool
close_by_number(unsigned int first, unsigned int last)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	int error = 0;

	/* Without /proc, or behind a wall that hides it. */
	if (dir == NULL) {
		for (; first <= last && first < NUMBERS_MAX; first++)
			close((int)first);
		return true;
	}
	while ((errno = 0, e = readdir(dir)) != NULL) {
		const unsigned long fd = strtoul(e->d_name, NULL, 10);

		if (e->d_name[0] != '.' && fd >= first && fd <= last &&
		    fd != (unsigned long)dirfd(dir))
			close((int)fd);
	}
	error = errno;
	closedir(dir);
	errno = error;
	return error == 0;
}

bool
io_close_range(unsigned int first, unsigned int last)
{
	/* musl does not have it, nor renameat2(2). */
	return syscall(SYS_close_range, first, last, 0) == 0 ||
	    close_by_number(first, last);
}

bool
io_exchange(int dir, const char *from, const char *to, bool both)
{
	return syscall(SYS_renameat2, dir, from, dir, to,
		   both ? RENAME_EXCHANGE : RENAME_NOREPLACE) == 0;
}

static int64_t
now_in_milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t
io_deadline(unsigned int seconds)
{
	return now_in_milliseconds() + 1000 * (int64_t)seconds;
}

bool
io_wait(int fd, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left;

	while ((left = deadline - now_in_milliseconds()) > 0)
		if (poll(&p, 1, left > INT_MAX ? INT_MAX : (int)left) == 1)
			return true;
	return false;
}
