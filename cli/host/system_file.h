/* SPDX-License-Identifier: ISC */
/*
 * host/system_file: files of this machine that its administrator writes, such
 * as sshd's and PAM's, by their absolute paths.
 */
#ifndef CLI_HOST_SYSTEM_FILE_H
#define CLI_HOST_SYSTEM_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* system_file_read refuses larger files. */
#define SYSTEM_FILE_MAX_BYTES (4 * 1024 * 1024)

/*
 * As open(2) with O_CLOEXEC, O_NONBLOCK (no waiting for a FIFO) and O_NOCTTY.
 * It has a file of its own, system_open.c, so that a test can put another in its
 * place.
 */
int system_file_open(const char *path, int flags);

/*
 * Sets place to the path of the file with all links resolved. If the file does
 * not exist, its directory is resolved. False with errno: ENOENT for a link to
 * a file that does not exist.
 */
bool system_file_resolve(const char *path, char place[static PATH_MAX]);

/* Whether both paths are the same, or stand for one file that is there. */
bool system_file_is_same(const char *a, const char *b);

/*
 * Returns the content of a regular file, with a NUL after it; *lenp does not
 * count the NUL. The caller frees it. NULL with errno: EMSGSIZE if the file is
 * larger than SYSTEM_FILE_MAX_BYTES, EINVAL if it is not a regular file, EAGAIN
 * if it grows meanwhile.
 */
char *system_file_read(const char *path, size_t *lenp);

/*
 * Whether a program that reads the file with fgets(3) finds nothing in it, as
 * sshd and libpam do: a directory, or /dev/null, as which a link masks a file.
 */
bool system_file_is_masked(const char *path);

#endif
