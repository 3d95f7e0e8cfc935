/* SPDX-License-Identifier: ISC */
/* host/read: read(2), repeated until the end of the file. */
#ifndef CLI_HOST_READ_H
#define CLI_HOST_READ_H

#include <sys/types.h>

#include <stddef.h>

/*
 * Reads fd to its end, but at most cap bytes. Returns how many were read; -1
 * with errno.
 */
ssize_t read_all(int fd, void *p, size_t cap);

#endif
