/* SPDX-License-Identifier: ISC */
/* sets/list_batch: records that are put into an exact list at once. */
#ifndef CLI_SETS_LIST_BATCH_H
#define CLI_SETS_LIST_BATCH_H

#include "sets/list_writer.h"

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
