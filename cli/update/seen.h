/* SPDX-License-Identifier: ISC */
/*
 * update/seen: compares a new file with all that were installed so far, of which
 * the notes remember a few numbers. So a publisher cannot bring an old file back
 * after the installed one was lost, nor take keys away a few at a time.
 */
#ifndef CLI_UPDATE_SEEN_H
#define CLI_UPDATE_SEEN_H

#include "kv_pkbf.h"

struct update;

/* The bits of a filter that may be lost in all: 1/100, or those of 10 keys. */
#define UPDATE_SEEN_BITS_SHARE 100
#define UPDATE_SEEN_KEYS 10

/*
 * Whether a filter with this header may be received: not older than any that
 * was installed, nor far above it, nor from the future. False after a message.
 */
bool update_seen_allows_header(const struct update *u,
    const struct kv_pkbf_header *h);

/* The same of a list of that time, in seconds since 1970. */
bool update_seen_allows_time(const struct update *u, int64_t time);

/*
 * Whether the filter u->filter.judged, or the list u->list.fresh, which is open
 * as u->part, still has almost all of what was installed. Sets u->seen, for
 * update_seen_keep. False after a message.
 */
bool update_seen_allows_filter(struct update *u);
bool update_seen_allows_list(struct update *u);

/* The new file is installed: has the notes say so. The caller saves them. */
void update_seen_keep(struct update *u);

/*
 * The installed file is the server's. Returns whether that changed the notes,
 * so that the caller must save them.
 */
bool update_seen_keep_current(struct update *u);

/*
 * The installed file is rolled back from, to the one that is open as previous:
 * has the notes say so, and forget what came after that one. False after a
 * message, with the notes as they were.
 */
bool update_seen_roll_back(struct update *u, int previous);

#endif
