/* SPDX-License-Identifier: ISC */
#include "sets/list_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/room.h"
#include "command.h"
#include "sets/set.h"

bool
list_writer_open(struct list_writer *w, const char *path)
{
	w->records = w->used = 0;
	w->keeps_old = false;
	memset(w->has_id, 0, sizeof(w->has_id));
	return set_replace(&w->file, &set_list, path);
}

bool
list_writer_keep_old(struct list_writer *w)
{
	w->keeps_old = w->file.old != -1;
	return !w->keeps_old ||
	    list_reader_adopt(&w->old, w->file.path, w->file.old) ||
	    list_reader_is_good(&w->old);
}

static bool
write_buffer(struct list_writer *w)
{
	const size_t n = w->used;

	w->used = 0;
	return io_write(w->file.fd, w->buffer, n * sizeof(list_record)) ||
	    cli_failed(w->file.path, "cannot be written");
}

bool
list_writer_put(struct list_writer *w, const uint8_t *record)
{
	if (w->records == KV_BLOCKLIST_RECORDS_MAX)
		return cli_error("%s: would have more than %" PRIu64
				 " records, the most "
				 "that a login takes; nothing was written",
		    w->file.path, KV_BLOCKLIST_RECORDS_MAX);
	if (w->used == LIST_BUFFER_RECORDS && !write_buffer(w))
		return false;
	memcpy(w->buffer[w->used++], record, sizeof(list_record));
	w->has_id[record[KV_BLOCKLIST_HASH_BYTES]] = true;
	w->records++;
	return true;
}

bool
list_writer_commit(struct list_writer *w)
{
	return write_buffer(w) && set_commit(&w->file);
}

/* --- many records at once ------------------------------------------------- */

bool
list_batch_add(struct list_batch *b, const struct kv_blocklist_hash *h,
    uint8_t id)
{
	if (!room_for_one(&b->record, b->n, sizeof(list_record)))
		return cli_error("%s", strerror(errno));
	memcpy(b->record[b->n], h->byte, sizeof(h->byte));
	b->record[b->n++][KV_BLOCKLIST_HASH_BYTES] = id;
	return true;
}

static int
compare_records(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(list_record));
}

void
list_batch_sort(struct list_batch *b)
{
	size_t kept = 0;

	if (b->n > 0)
		qsort(b->record, b->n, sizeof(list_record), compare_records);
	for (size_t i = 0; i < b->n; i++) {
		if (kept > 0 &&
		    list_same_hash(b->record[kept - 1], b->record[i])) {
			b->known++;
			continue;
		}
		if (kept != i)
			memcpy(b->record[kept], b->record[i],
			    sizeof(list_record));
		kept++;
	}
	b->n = kept;
}

bool
list_batch_write(struct list_batch *b, struct list_writer *w)
{
	struct list_reader *old = &w->old;
	const uint8_t *record;
	size_t i = 0;
	bool ok = replace_begin(&w->file);

	list_batch_sort(b);
	record = w->keeps_old ? list_reader_next(old) : NULL;
	while (ok && (record != NULL || i < b->n)) {
		int order = record == NULL ?
		    1 :
		    i == b->n ?
		    -1 :
		    memcmp(record, b->record[i], KV_BLOCKLIST_HASH_BYTES);

		if (order > 0) {
			ok = list_writer_put(w, b->record[i++]);
			b->added++;
			continue;
		}
		if (order == 0) {
			b->known++;
			i++;
		}
		ok = list_writer_put(w, record);
		record = list_reader_next(old);
	}
	return ok && (!w->keeps_old || list_reader_is_good(old));
}

void
list_batch_free(struct list_batch *b)
{
	free(b->record);
	*b = (struct list_batch){ .n = 0 };
}
