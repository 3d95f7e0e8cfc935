/* SPDX-License-Identifier: ISC */
/* host/read: reading all that there is. */
#ifndef CLI_HOST_READ_H
#define CLI_HOST_READ_H

#include <sys/types.h>

#include <stddef.h>

/* Reads fd to its end, or until cap bytes are there. -1 with errno. */
ssize_t read_all(int fd, void *p, size_t cap);

#endif
