/* SPDX-License-Identifier: ISC */
#include "sets/list_writer.h"

#include <inttypes.h>
#include <string.h>

#include "command.h"
#include "base/io.h"

bool
list_writer_open(struct list_writer *w, const char *path, int yes)
{
	w->records = w->used = 0;
	memset(w->has_id, 0, sizeof(w->has_id));
	if (!replace_open(&w->file, path))
		return false;
	w->file.root_only = true;
	w->file.change = CHANGE_LIST;
	w->file.via = "list";
	w->file.yes = yes;
	return true;
}

/* Reads all of the old file. Sets why to what makes it no list; "" if it is. */
static void
find_fault_in_old(struct list_writer *w, char why[static LIST_WHY_BYTES])
{
	list_reader_adopt(&w->old, w->file.path, w->file.old);
	while (list_reader_next(&w->old) != NULL)
		;
	memcpy(why, w->old.why, LIST_WHY_BYTES);
	list_reader_adopt(&w->old, w->file.path, w->file.old);
}

bool
list_writer_may_replace(struct list_writer *w, bool force, const char *why)
{
	char fault[LIST_WHY_BYTES];

	if (w->file.old == -1)
		return true;
	find_fault_in_old(w, fault);
	if (!force && fault[0] != '\0')
		cli_error("%s: is not an exact list (%s); --force keeps it "
			  "beside under another name, and makes a list here",
		    w->file.path, fault);
	else if (!force && why != NULL)
		cli_error("%s: %s", w->file.path, why);
	else {
		w->file.keep_beside = fault[0] != '\0';
		return true;
	}
	return false;
}

bool
list_writer_start(struct list_writer *w)
{
	return replace_begin(&w->file);
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
	if (w->records == KV_BLOCKLIST_RECORDS_MAX) {
		cli_error("%s: would have more than %" PRIu64
			  " records, the most that a login takes; nothing was "
			  "written",
		    w->file.path, KV_BLOCKLIST_RECORDS_MAX);
		return false;
	}
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
	if (!write_buffer(w) || !replace_commit(&w->file))
		return false;
	cli_warn_if_distrusted(w->file.path);
	return true;
}

void
list_writer_close(struct list_writer *w)
{
	replace_close(&w->file);
}
