/* SPDX-License-Identifier: ISC */
/* host/memory: files that are in no folder. */
#ifndef CLI_HOST_MEMORY_H
#define CLI_HOST_MEMORY_H

/*
 * Makes a file in memory, with that name for /proc, or files_scratch's where the
 * system has no memfd_create(2). The caller closes it. -1 with errno.
 */
int memory_file(const char *name);

#endif
