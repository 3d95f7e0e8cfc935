/* SPDX-License-Identifier: ISC */
/* host/write: writing all of some bytes. */
#ifndef CLI_HOST_WRITE_H
#define CLI_HOST_WRITE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* Writes len bytes to fd, where it stands. False with errno. */
bool write_all(int fd, const void *p, size_t len);

/* Writes len bytes to fd, at that offset. False with errno. */
bool write_all_at(int fd, const void *p, size_t len, off_t at);

#endif
