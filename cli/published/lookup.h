/* SPDX-License-Identifier: ISC */
/*
 * published/lookup: finds in LIST.lookup where the private half of a key lies.
 * The file has hundreds of megabytes; it is searched by positioned reads.
 *
 * A line is 16 lower-case hexadecimal digits, the first 8 bytes of a hash in
 * the list, then a semicolon and a path. Lines are in ascending order.
 */
#ifndef CLI_PUBLISHED_LOOKUP_H
#define CLI_PUBLISHED_LOOKUP_H

#include "kv_blocklist.h"

#define LOOKUP_SUFFIX ".lookup"
/* The longest line, with its line end. */
#define LOOKUP_LINE_MAX 4096
/* The most paths of one key that are given. */
#define LOOKUP_PATHS_MAX 8
#define LOOKUP_WHY_BYTES 256

/*
 * Calls give for each path of the hash in the file behind fd, in order. The
 * bytes are untrusted. False, with a reason in why, if a line that was read is
 * no such line or not in order, or if the file cannot be read.
 */
bool lookup_find(int fd, const struct kv_blocklist_hash *h,
    void (*give)(struct kv_span path, void *arg), void *arg,
    char why[static LOOKUP_WHY_BYTES]);

#endif
