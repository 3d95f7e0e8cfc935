/* SPDX-License-Identifier: ISC */
/* host/proc: what the kernel says of a process below /proc. */
#ifndef CLI_HOST_PROC_H
#define CLI_HOST_PROC_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the beginning of /proc/PID/NAME into text, with a NUL after it. False
 * with errno, or if it is empty.
 */
bool proc_read_start(const char *pid, const char *name, char *text, size_t cap);

/* Sets path to the target of the link /proc/PID/NAME. False with errno. */
bool proc_read_link(const char *pid, const char *name,
    char path[static PATH_MAX]);

#endif
