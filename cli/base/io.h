/* SPDX-License-Identifier: ISC */
/*
 * base/io: read(2), write(2) and pwrite(2), repeated until all is done, and
 * other small functions of descriptors.
 */
#ifndef CLI_BASE_IO_H
#define CLI_BASE_IO_H

#include <sys/stat.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads fd to its end, but at most cap bytes. Returns how many were read; -1
 * with errno.
 */
ssize_t io_read(int fd, void *p, size_t cap);

/* Writes all len bytes at the current offset of fd. False with errno. */
bool io_write(int fd, const void *p, size_t len);

/* Writes all len bytes at offset at of fd. False with errno. */
bool io_write_at(int fd, const void *p, size_t len, off_t at);

/*
 * The same, into a part of a file that was never written, of a file system with
 * holes: pages of zeros are left out, and use no space on disk.
 */
bool io_write_sparse_at(int fd, const void *p, size_t len, off_t at);

/*
 * Copies len bytes from offset at of a regular file to the current offset of to,
 * without reading them. False with errno: EIO, if it has fewer.
 */
bool io_copy(int from, off_t at, size_t len, int to);

/*
 * Opens the file behind fd again, for reading alone and with an offset of its
 * own. -1 with errno.
 */
int io_reopen(int fd);

/* Closes fd, unless it is -1. Leaves errno as it is. */
void io_close(int fd);

/* Whether both are of one file. */
bool io_is_same(const struct stat *a, const struct stat *b);

/* Whether name, below the directory dir, stands for the file behind fd. */
bool io_is_named(int fd, int dir, const char *name);

/*
 * Locks the file behind fd, which can be written, for this process alone, unless
 * another one has it: false with errno, EWOULDBLOCK. Unlike a lock of flock(2)
 * no child has it, so that it ends with a process that is killed, even if a
 * child of it has not closed its descriptors yet. It also ends when this process
 * closes any descriptor of the file.
 */
bool io_lock(int fd);

/*
 * Closes the descriptors first to last. Where close_range(2) is missing, or a
 * filter of system calls refuses it, reads their numbers from /proc. False with
 * errno: perhaps not all are closed.
 */
bool io_close_range(unsigned int first, unsigned int last);

/*
 * Exchanges two files, of these names in the directory dir; or, unless there are
 * both, renames from, to a name that must be free. False with errno.
 */
bool io_exchange(int dir, const char *from, const char *to, bool both);

/* The time in seconds from now, for io_wait. */
int64_t io_deadline(unsigned int seconds);

/* Waits until fd can be read. False if it cannot before the deadline. */
bool io_wait(int fd, int64_t deadline);

#endif
