/* SPDX-License-Identifier: ISC */
/*
 * kv_wildcards: finds the files that a path with wildcards matches, as sshd
 * 10.0 and later find them. sshd has a glob of its own (openbsd-compat/glob.c),
 * which differs from the C library's glob(3): in [^a] the ^ stands for itself,
 * and a backslash makes the next character an ordinary one everywhere.
 */
#ifndef KV_WILDCARDS_H
#define KV_WILDCARDS_H

#include <stdbool.h>

#include "kv_err.h"

/* AuthorizedKeysFileWildcards: are the names in AuthorizedKeysFile patterns? */
enum kv_wildcards {
	/* Not set: those in which a wildcard is written. */
	KV_WILDCARDS_WRITTEN = 0,
	KV_WILDCARDS_YES, /* all, as in sshd 10.0 and later */
	KV_WILDCARDS_NO,  /* none, as in earlier sshd */
};

/*
 * Whether to search for wildcards in what a pattern of AuthorizedKeysFile
 * expands to. pattern is as written: tokens not expanded.
 */
bool kv_wildcards_apply(enum kv_wildcards mode, const char *pattern);

/* Called for each file, in the order of strcmp. Returns false to stop. */
typedef bool (*kv_wildcards_found)(const char *path, void *arg);

/*
 * Calls found for each file that pattern, an absolute path, matches. Opens none
 * of them. KV_OK: found was called for all, or returned false. KV_ERR_MEMORY,
 * KV_ERR_NO_SPACE (a path is too long): found was not called. *errorp is 0, or
 * the errno of a place that the running process could not search: sshd passes
 * over such places.
 * Names without wildcards are not searched for, and a pattern that can match
 * nothing, as [a/b], searches nothing.
 */
KV_MUST_CHECK enum kv_err kv_wildcards_find(const char *pattern,
    kv_wildcards_found found, void *arg, int *errorp);

#endif
