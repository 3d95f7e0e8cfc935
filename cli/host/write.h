/* SPDX-License-Identifier: ISC */
/* host/write: write(2) and pwrite(2), repeated until all is written. */
#ifndef CLI_HOST_WRITE_H
#define CLI_HOST_WRITE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* Writes all len bytes at the current offset of fd. False with errno. */
bool write_all(int fd, const void *p, size_t len);

/* Writes all len bytes at offset at of fd. False with errno. */
bool write_all_at(int fd, const void *p, size_t len, off_t at);

#endif
