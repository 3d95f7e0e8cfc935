/* SPDX-License-Identifier: ISC */
#include "sets/list_writer.h"

#include <inttypes.h>
#include <string.h>

#include "base/io.h"
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
