/* SPDX-License-Identifier: ISC */
#include "sets/pkbf_writer.h"

#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "sets/filter_file.h"

bool
pkbf_writer_open(struct pkbf_writer *w, const char *path, int yes)
{
	*w = (struct pkbf_writer){ .header = { 0 } };
	if (!replace_open(&w->file, path))
		return false;
	w->file.root_only = true;
	w->file.change = CHANGE_FILTER;
	w->file.via = "filter";
	w->file.yes = yes;
	return true;
}

bool
pkbf_writer_may_replace(struct pkbf_writer *w, bool force, const char *why)
{
	struct kv_pkbf f;
	enum kv_err r;

	if (w->file.old == -1)
		return true;
	if ((r = kv_pkbf_open_fd(w->file.old, &f)) == KV_ERR_SYSTEM)
		return cli_failed(w->file.path, "cannot be read; move it away");
	if (!force && r != KV_OK)
		cli_error("%s: is not a filter (%s); --force keeps it beside "
			  "under another name, and makes a filter here",
		    w->file.path, kv_strerror(r));
	else if (!force && why != NULL)
		cli_error("%s: %s", w->file.path, why);
	else {
		w->file.keep_beside = r != KV_OK;
		return true;
	}
	return false;
}

bool
pkbf_writer_load(struct pkbf_writer *w)
{
	const char *path = w->file.path;
	struct kv_pkbf f;

	if (w->file.old == -1) {
		cli_error("%s: no such file; 'keyveto filter create' makes one",
		    path);
		return false;
	}
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

static bool
write_at(const struct pkbf_writer *w, const uint8_t *p, size_t len, off_t at)
{
	return io_write_at(w->file.fd, p, len, at) ||
	    cli_failed(w->file.path, "cannot be written");
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
	if (!write_at(w, raw, sizeof(raw), 0) || !replace_commit(&w->file))
		return false;
	cli_warn_if_distrusted(w->file.path);
	return true;
}

void
pkbf_writer_close(struct pkbf_writer *w)
{
	replace_close(&w->file);
}
