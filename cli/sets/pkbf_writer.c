/* SPDX-License-Identifier: ISC */
#include "sets/pkbf_writer.h"

#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "sets/filter_file.h"
#include "sets/set.h"

bool
pkbf_writer_open(struct pkbf_writer *w, const char *path)
{
	*w = (struct pkbf_writer){ .header = { 0 } };
	return set_replace(&w->file, &set_filter, path);
}

bool
pkbf_writer_load(struct pkbf_writer *w)
{
	const char *path = w->file.path;
	struct kv_pkbf f;

	if (w->file.old == -1)
		return cli_error(
		    "%s: no such file; 'keyveto filter create' makes one",
		    path);
	if (!filter_adopt(path, w->file.old, &f))
		return false;
	w->header = f.header;
	return true;
}

bool
pkbf_writer_start(struct pkbf_writer *w, const struct kv_pkbf_header *h)
{
	w->header = *h;
	if (!replace_begin(&w->file))
		return false;
	if (ftruncate(w->file.fd, kv_pkbf_file_bytes(h->length)) == -1)
		return cli_failed(w->file.path, "cannot be made that large");
	return true;
}

bool
pkbf_writer_put(struct pkbf_writer *w, const uint8_t *bits, size_t len,
    off_t at)
{
	return io_write_sparse_at(w->file.fd, bits, len,
		   at + KV_PKBF_HEADER_BYTES) ||
	    cli_failed(w->file.path, "cannot be written");
}

bool
pkbf_writer_commit(struct pkbf_writer *w)
{
	uint8_t raw[KV_PKBF_HEADER_BYTES];

	if (w->file.fd == -1)
		return true;
	kv_pkbf_header_encode(&w->header, raw);
	if (!io_write_at(w->file.fd, raw, sizeof(raw), 0))
		return cli_failed(w->file.path, "cannot be written");
	return set_commit(&w->file);
}
