/* SPDX-License-Identifier: ISC */
#include "sets/list_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "base/room.h"

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
