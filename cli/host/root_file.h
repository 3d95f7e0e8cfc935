/* SPDX-License-Identifier: ISC */
/*
 * host/root_file: files of a machine whose file system is in a directory, such
 * as an image. root is the name of that directory, or "" for this machine.
 * Paths are absolute, as that machine sees them. Symbolic links are resolved
 * below root.
 *
 * root_hold opens the directory once. The functions below then use that
 * descriptor, and root's name only in messages.
 */
#ifndef CLI_HOST_ROOT_FILE_H
#define CLI_HOST_ROOT_FILE_H

#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* root_read refuses larger files. */
#define ROOT_FILE_MAX_BYTES (4 * 1024 * 1024)

/*
 * Opens the directory for all later calls in this process and in its children
 * (host/child). False with a reason in why (cap bytes), also if root is this
 * machine's own root directory under another name.
 */
bool root_hold(const char *root, char *why, size_t cap);

/*
 * As open(2) with O_CLOEXEC, O_NONBLOCK (no waiting for a FIFO) and O_NOCTTY.
 * -1 with errno: EINVAL if root_hold opened another root.
 */
int root_open(const char *root, const char *path, int flags);

/*
 * Sets place to the path of the file with all links resolved. If the file does
 * not exist, its directory is resolved. False with errno: ENOENT for a link to
 * a file that does not exist.
 */
bool root_resolve(const char *root, const char *path,
    char place[static PATH_MAX]);

/*
 * As root_resolve, but opens the file's directory, and sets name to the file's
 * name in it. The caller closes the descriptor. -1 with errno; also EINVAL for
 * a path that ends in "/", "/." or "/..".
 */
int root_open_place(const char *root, const char *path,
    char name[static NAME_MAX + 1]);

/*
 * Returns the content of a regular file, with a NUL after it; *lenp does not
 * count the NUL. The caller frees it. NULL with errno: EMSGSIZE if the file is
 * larger than ROOT_FILE_MAX_BYTES, EINVAL if it is not a regular file, EAGAIN
 * if it grows meanwhile.
 */
char *root_read(const char *root, const char *path, size_t *lenp);

/*
 * Whether a program that reads the file with fgets(3) finds nothing in it, as
 * sshd and libpam do: a directory, or /dev/null, as which a link masks a file.
 */
bool root_is_masked(const char *root, const char *path);

/*
 * As glob(3) without flags. The names found are as that machine sees them. Not
 * for two threads at once. The caller calls globfree.
 */
int root_glob(const char *root, const char *pattern, glob_t *found);

/*
 * Makes root the root directory of this process for good. From then on names of
 * users and groups come from the files there alone: any other NSS service would
 * load code from root. False with errno.
 */
bool root_enter(const char *root);

/*
 * Calls f(arg, why, cap) in a child process that has root as its root directory
 * and runs as uid and gid. Returns what f returned, with why as f set it. False
 * with a reason in why if there is no such child.
 */
bool root_ask(const char *root, unsigned int uid, unsigned int gid,
    bool (*f)(void *arg, char *why, size_t cap), void *arg, char *why,
    size_t cap);

#endif
