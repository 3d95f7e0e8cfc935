/* SPDX-License-Identifier: ISC */
/*
 * update/seen: compares a new file with the installed one, and with the highest
 * revision or date so far, which the notes remember: an old file does not come
 * back after the installed one was lost.
 */
#ifndef CLI_UPDATE_SEEN_H
#define CLI_UPDATE_SEEN_H

#include "kv_pkbf.h"

struct update;
struct update_notes;

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
 * as u->part, has more than nine tenths of what is installed. False after a
 * message.
 */
bool update_seen_allows_filter(const struct update *u);
bool update_seen_allows_list(struct update *u);

/* Whether the file with this SHA-256 is the one that was rolled back from last. */
bool update_unwanted_is(const struct update_notes *s, const char *sha256);

/* Prints that the server, shown, still has such a file, which is called name. */
void update_unwanted_report(const char *shown, const char *name);

/*
 * The new file is installed; or the installed one is the server's: has the notes
 * say so. The caller saves them.
 */
void update_seen_keep(struct update *u);
void update_seen_keep_current(struct update *u);

/*
 * The installed file is rolled back from, to the one that is open as previous:
 * has the notes say so, and forget what came after that one. False after a
 * message, with the notes as they were.
 */
bool update_seen_roll_back(struct update *u, int previous);

#endif
