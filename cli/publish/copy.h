/* SPDX-License-Identifier: ISC */
/* publish/copy: small files of others, in memory that nobody can change. */
#ifndef CLI_PUBLISH_COPY_H
#define CLI_PUBLISH_COPY_H

#include <sys/types.h>

#include <stddef.h>

/*
 * Copies len bytes from offset at of a regular file, without reading them. The
 * workers that get the copy cannot write to it, and all see the same bytes. -1
 * after a message about shown.
 */
int copy_part(const char *shown, int fd, off_t at, size_t len);

#endif
