/* SPDX-License-Identifier: ISC */
/*
 * kv_wildcards: the files that a path with wildcards stands for, as sshd from
 * 10.0 on finds them. sshd does not use the C library's glob(3) but one of its
 * own (openbsd-compat/glob.c), which differs: in [^a] the ^ stands for itself,
 * and a backslash makes the next character an ordinary one everywhere.
 */
#ifndef KV_WILDCARDS_H
#define KV_WILDCARDS_H

#include <stdbool.h>

#include "kv_err.h"

/* What AuthorizedKeysFileWildcards says of names in AuthorizedKeysFile. */
enum kv_wildcards {
	/* Without it: a pattern that has wildcards itself is one. */
	KV_WILDCARDS_WRITTEN = 0,
	KV_WILDCARDS_YES, /* as sshd from 10.0 on: each is a pattern */
	KV_WILDCARDS_NO,  /* as sshd before: each is a name */
};

/*
 * Whether what a pattern of AuthorizedKeysFile expands to is to be searched for
 * wildcards. pattern is as it is written: tokens not expanded.
 */
bool kv_wildcards_apply(enum kv_wildcards mode, const char *pattern);

/* Called for each file, in the order of strcmp; false stops. */
typedef bool (*kv_wildcards_found)(const char *path, void *arg);

/*
 * Calls found for each file that pattern, an absolute path, matches. None is
 * opened. Returns KV_OK when all have been told or found stopped it,
 * KV_ERR_MEMORY or KV_ERR_NO_SPACE (a path is too long), and none is told then.
 * *errorp is the errno of what could not be searched on the way, as the
 * running process, or 0: sshd passes over it.
 */
KV_MUST_CHECK enum kv_err kv_wildcards_find(const char *pattern,
    kv_wildcards_found found, void *arg, int *errorp);

#endif
