/* SPDX-License-Identifier: ISC */
/*
 * wildcards: the files that a path with wildcards stands for, as sshd from
 * 10.0 on finds them. sshd does not use the C library's glob(3) but one of its
 * own (openbsd-compat/glob.c), which differs: in [^a] the ^ stands for itself,
 * and a backslash makes the next character an ordinary one everywhere.
 */
#ifndef GUARD_WILDCARDS_H
#define GUARD_WILDCARDS_H

#include <stdbool.h>

#include "kv_err.h"

/* Called for each file, in the order of strcmp; false stops. */
typedef bool (*wildcards_found)(const char *path, void *arg);

/*
 * Calls found for each file that pattern, an absolute path, matches. None is
 * opened. Returns KV_OK when all have been told or found stopped it,
 * KV_ERR_MEMORY or KV_ERR_NO_SPACE (a path is too long), and none is told then.
 * *errorp is the errno of what could not be searched on the way, as the
 * running process, or 0: sshd passes over it.
 */
KV_MUST_CHECK enum kv_err wildcards_find(const char *pattern,
    wildcards_found found, void *arg, int *errorp);

#endif
