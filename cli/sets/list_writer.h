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
	struct list_reader old; /* the list that is replaced, if there is one */
	uint64_t records;	/* put so far */
	bool has_id[UINT8_MAX + 1]; /* the sources of those records */
	size_t used;
	list_record buffer[LIST_BUFFER_RECORDS];
};

/*
 * Opens the file, as set_replace. w->old is for the old list, which the caller
 * opens. Always call list_writer_close, even after a failure. These functions
 * print a message before they return false.
 */
bool list_writer_open(struct list_writer *w, const char *path, int yes);

/* Appends a record, after replace_begin. The caller keeps the order. */
bool list_writer_put(struct list_writer *w, const uint8_t *record);

/* Replaces the old file, as set_commit. */
bool list_writer_commit(struct list_writer *w);

void list_writer_close(struct list_writer *w);

#endif
