/* SPDX-License-Identifier: ISC */
#include "sets/list_reader.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "kv_pread.h"

bool
list_reader_adopt(struct list_reader *r, const char *path, int fd)
{
	struct stat st;

	r->path = path;
	r->fd = fd;
	r->records = r->read = r->next = 0;
	r->start = r->end = 0;
	r->disorder = false;
	memset(r->last, 0, sizeof(r->last));
	r->why[0] = '\0';
	if (fstat(fd, &st) == -1)
		snprintf(r->why, sizeof(r->why), "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		snprintf(r->why, sizeof(r->why), "not a regular file");
	else if (st.st_size % KV_BLOCKLIST_RECORD_BYTES != 0)
		snprintf(r->why, sizeof(r->why),
		    "has %jd bytes, which are no whole records of %d: not an "
		    "exact list, or cut short; get it or build it again",
		    (intmax_t)st.st_size, KV_BLOCKLIST_RECORD_BYTES);
	else
		r->records = (uint64_t)st.st_size / KV_BLOCKLIST_RECORD_BYTES;
	if (r->records > KV_BLOCKLIST_RECORDS_MAX)
		snprintf(r->why, sizeof(r->why),
		    "has %" PRIu64 " records; the most that a login takes is "
		    "%" PRIu64,
		    r->records, KV_BLOCKLIST_RECORDS_MAX);
	return r->why[0] == '\0';
}

/*
 * How many of n records are good: in order, from the one before them on (NULL:
 * they are the first), and no hole.
 */
static size_t
count_good(list_record *record, size_t n, const uint8_t *before)
{
	uint64_t last = before != NULL ? kv_blocklist_leading_bits(before) : 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t first = kv_blocklist_leading_bits(record[i]);

		if (first < last ||
		    (first == last && before != NULL &&
			(memcmp(record[i], before, sizeof(list_record)) < 0 ||
			    kv_blocklist_is_hole(before, record[i]))))
			return i;
		last = first;
		before = record[i];
	}
	return n;
}

/* Reads the next records into the buffer, which is used up. */
static bool
fill_buffer(struct list_reader *r)
{
	uint64_t left = r->records - r->read;
	size_t n = left < LIST_BUFFER_RECORDS ?
	    (size_t)left :
	    LIST_BUFFER_RECORDS;
	const uint8_t *before = r->read > 0 ? r->last : NULL;
	enum kv_err err;

	if (r->read > 0)
		memcpy(r->last, r->buffer[r->end - 1], sizeof(r->last));
	err = kv_pread(r->fd, r->buffer, n * sizeof(list_record),
	    (off_t)(r->read * sizeof(list_record)), KV_ERR_LIST_SIZE);
	if (err != KV_OK) {
		snprintf(r->why, sizeof(r->why), "%s",
		    err == KV_ERR_SYSTEM ?
			strerror(errno) :
			"became shorter while it was read; try again");
		return false;
	}
	r->read += n;
	r->start = 0;
	r->end = count_good(r->buffer, n, before);
	r->disorder = r->end < n;
	return true;
}

/* False at the end of the list, or with a reason in r->why. */
static bool
has_next(struct list_reader *r)
{
	const uint8_t *before;

	if (r->why[0] != '\0' || r->next == r->records)
		return false;
	if (r->start == r->end && !r->disorder && !fill_buffer(r))
		return false;
	if (r->start < r->end)
		return true;
	/* It is the record behind the good ones. */
	before = r->end > 0 ? r->buffer[r->end - 1] : r->last;
	snprintf(r->why, sizeof(r->why),
	    "record %" PRIu64 ", at byte %" PRIu64 ", is %s; get it or build "
	    "it again",
	    r->next + 1, r->next * KV_BLOCKLIST_RECORD_BYTES,
	    kv_blocklist_is_hole(before, r->buffer[r->end]) ?
		"in a hole of the file: only zero bytes or only 0xff bytes" :
		"below the one before it: not an exact list, or damaged");
	return false;
}

const uint8_t *
list_reader_next(struct list_reader *r)
{
	if (!has_next(r))
		return NULL;
	r->next++;
	return r->buffer[r->start++];
}

bool
list_reader_is_good(const struct list_reader *r)
{
	if (r->why[0] != '\0')
		cli_error("%s: %s", r->path, r->why);
	return r->why[0] == '\0';
}

bool
list_same_hash(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, KV_BLOCKLIST_HASH_BYTES) == 0;
}
