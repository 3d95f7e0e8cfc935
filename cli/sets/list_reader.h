/* SPDX-License-Identifier: ISC */
/*
 * sets/list_reader: reads all records of an exact list, and checks their order.
 * A list without records is read too: a login refuses it, but keys can be added.
 */
#ifndef CLI_SETS_LIST_READER_H
#define CLI_SETS_LIST_READER_H

#include "kv_blocklist.h"

#define LIST_WHY_BYTES 256
#define LIST_BUFFER_RECORDS 4096

typedef uint8_t list_record[KV_BLOCKLIST_RECORD_BYTES];

struct list_reader {
	const char *path;	/* the caller's */
	int fd;			/* the caller's */
	uint64_t records, read; /* in the file; read from it */
	uint64_t next;		/* the number of the next one, from 0 */
	list_record last;	/* of those that were in buffer before */
	size_t start, end;	/* of what is left in buffer, and in order */
	bool disorder;		/* the record at end is wrong */
	list_record buffer[LIST_BUFFER_RECORDS];
	char why[LIST_WHY_BYTES]; /* what is wrong with the file, or "" */
};

/* Begins to read an open file. False with the reason in r->why. */
bool list_reader_adopt(struct list_reader *r, const char *path, int fd);

/*
 * Returns the next record, which is valid until the next call. NULL at the end,
 * or with a reason in r->why if a record is below the one before it, is a hole
 * with it (kv_blocklist_is_hole) or cannot be read.
 */
const uint8_t *list_reader_next(struct list_reader *r);

/* Prints r->why, if there is one. Returns whether there is none. */
bool list_reader_is_good(const struct list_reader *r);

/* Whether both records have the same hash. */
bool list_same_hash(const uint8_t *a, const uint8_t *b);

#endif
