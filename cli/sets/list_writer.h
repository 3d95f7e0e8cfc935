/* SPDX-License-Identifier: ISC */
/*
 * sets/list_writer: makes exact lists, by host/replace. So readers see the old
 * list or the new one, and only one process writes at a time.
 */
#ifndef CLI_SETS_LIST_WRITER_H
#define CLI_SETS_LIST_WRITER_H

#include "host/replace.h"
#include "sets/list_reader.h"

struct list_writer {
	struct replace file;
	struct list_reader old;
	bool keeps_old;		    /* old is the list that is replaced */
	uint64_t records;	    /* put so far */
	bool has_id[UINT8_MAX + 1]; /* the sources of those records */
	size_t used;
	list_record buffer[LIST_BUFFER_RECORDS];
};

/*
 * Opens the file, as set_replace. Always call replace_close for w->file, even
 * after a failure. These functions print a message before they return false.
 */
bool list_writer_open(struct list_writer *w, const char *path);

/* Begins to read the old list, if there is one: its records are kept. */
bool list_writer_keep_old(struct list_writer *w);

/* Appends a record, after replace_begin. The caller keeps the order. */
bool list_writer_put(struct list_writer *w, const uint8_t *record);

/* Replaces the old file, as set_commit. */
bool list_writer_commit(struct list_writer *w);

/* --- many records at once ----------------------------------------------- */

/* All zeroes: empty. Freed by list_batch_free. */
struct list_batch {
	list_record *record;
	size_t n;
	/* Of the records: new ones; those that the batch or the list has. */
	uint64_t added, known;
};

/* Adds a record of source id. False after a message. */
bool list_batch_add(struct list_batch *b, const struct kv_blocklist_hash *h,
    uint8_t id);

/* Sorts the records, and counts those that are there twice as known. */
void list_batch_sort(struct list_batch *b);

/*
 * Begins a new list with w, and writes the old records that w keeps, and in
 * their places those of b whose hash these have not. Sorts b. False after a
 * message.
 */
bool list_batch_write(struct list_batch *b, struct list_writer *w);

void list_batch_free(struct list_batch *b);

#endif
