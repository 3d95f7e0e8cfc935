/* SPDX-License-Identifier: ISC */
/*
 * host/root_file: files of a machine whose file system is below a directory,
 * an image that is being made, say. root is the name of that directory, or ""
 * for this machine. A path is absolute, as that machine would have it, and its
 * links lead to places below root, too.
 *
 * root_hold opens the directory, once. From then on its name is only for
 * messages: whatever takes its place does not count.
 */
#ifndef CLI_HOST_ROOT_FILE_H
#define CLI_HOST_ROOT_FILE_H

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Larger files are no configuration. */
#define ROOT_FILE_MAX_BYTES (4 * 1024 * 1024)

/*
 * Opens the directory for all that follows in this process and in its children
 * (host/child). False with a sentence in why; also if it is this machine's
 * own root directory, by whatever name.
 */
bool root_hold(const char *root, char *why, size_t cap);

/* As open(2), close-on-exec, and without waiting for a FIFO. -1 with errno. */
int root_open(const char *root, const char *path, int flags);

/*
 * Where the file that path stands for really is, links resolved; of one that
 * is not there yet, its directory's place and its name. False with errno.
 */
bool root_resolve(const char *root, const char *path,
    char place[static PATH_MAX]);

/*
 * Opens the directory in which the file that path stands for is, or would be,
 * links resolved, and sets its name there. -1 with errno: ENOENT for a link to
 * nothing, which is no place to put a file.
 */
int root_open_place(const char *root, const char *path,
    char name[static NAME_MAX + 1]);

/*
 * A whole regular file, with a NUL after it; to be freed. NULL with errno:
 * EMSGSIZE if it is too large, EINVAL if it is no regular file.
 */
char *root_read(const char *root, const char *path, size_t *lenp);

/*
 * As glob(3), without flags; the names found are as that machine has them. One
 * at a time in a process.
 */
int root_glob(const char *root, const char *pattern, glob_t *found);

/*
 * Makes root the root directory of this process, for good; names of users and
 * groups then come from its files alone, since another service would load code
 * that lies there. False with errno.
 */
bool root_enter(const char *root);

/*
 * Calls f(arg, why, cap) in a process whose root directory is root, and which
 * is uid and gid, and returns what it returned. Where that cannot be done:
 * false, and why says so.
 */
bool root_ask(const char *root, unsigned int uid, unsigned int gid,
    bool (*f)(void *arg, char *why, size_t cap), void *arg, char *why,
    size_t cap);

#endif
