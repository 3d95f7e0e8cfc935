/* SPDX-License-Identifier: ISC */
/*
 * tasks/list: has keyveto-worker, behind the wall, read exact lists and what
 * goes with them. What it tells may be a lie of who wrote the file: all but its
 * form is the caller's to check.
 */
#ifndef CLI_TASKS_LIST_H
#define CLI_TASKS_LIST_H

#include "published/lookup.h"
#include "published/manifest.h"
#include "published/records.h"
#include "published/unpack.h"
#include "kv_sources.h"
#include "sets/list_facts.h"
#include "wall/wall.h"

/*
 * Parses the manifest that fd holds. False after a message about shown.
 * *parsedp is whether it is a good one; why is a sentence if not.
 */
bool tasks_manifest(const char *shown, int fd, struct manifest *m,
    bool *parsedp, char why[static MANIFEST_WHY_BYTES]);

/* Checks the list that fd holds. False after a message about shown. */
bool tasks_records(const char *shown, int fd, struct update_records *r);

/*
 * Unpacks the file that packed holds into out, which is empty, at most max
 * bytes, perhaps an exact list. Sets *lenp to the size of out. False after a
 * message about shown. Whoever wrote the packed file may have written anything
 * into out.
 */
bool tasks_unpack(const char *shown, int packed, int out, uint64_t max,
    bool is_list, bool (*stopped)(void), off_t *lenp, struct unpacked *x);

/*
 * Sets *lostp to the number of the n records of the list old whose hashes the
 * list new does not have. False after a message.
 */
bool tasks_lost_records(const char *old_shown, int old, uint64_t n,
    const char *new_shown, int new, uint64_t *lostp);

/*
 * Sets the facts, but for from, of the list at path, which is open as fd, with
 * the file of its sources (-1: none): as list_facts_read.
 */
bool tasks_list_facts(const char *path, int fd, int sources,
    struct list_facts *f, char why[static LIST_WHY_BYTES]);

/*
 * Sets words to what the file of sources behind fd says of source id, behind its
 * name; "" after a message about shown.
 */
void tasks_source(const char *shown, int fd, uint8_t id,
    char words[static KV_SOURCES_MAX_BYTES]);

/*
 * As lookup_find, of at most LOOKUP_PATHS_MAX paths. The worker's own failure is
 * a reason, too.
 */
bool tasks_lookup(int fd, const struct kv_blocklist_hash *h,
    void (*give)(struct kv_span path, void *arg), void *arg,
    char why[static WALL_WHY_BYTES]);

#endif
