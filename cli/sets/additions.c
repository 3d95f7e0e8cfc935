/* SPDX-License-Identifier: ISC */
#include "sets/additions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "base/progress.h"

/* Both are multiples of a page, so that windows begin and end with pages. */
#define WINDOW_BYTES (64 * 1024 * 1024)
#define PAGE_BYTES 4096

/* The bits of so many keys are fetched in parallel. */
#define GROUP_KEYS 64

/*
 * So few keys are looked up in the old file before it is read: mostly, they are
 * a key or two that are listed already, or that are new.
 */
#define FEW_KEYS 256

static size_t
pages_of(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

bool
additions_open(struct additions *a, struct pkbf_writer *writer)
{
	struct additions_window *w = &a->window;
	const off_t bytes = kv_pkbf_file_bytes(writer->header.length);
	const size_t room = bytes < WINDOW_BYTES ? (size_t)bytes : WINDOW_BYTES;

	*a = (struct additions){ .writer = writer,
		.window = { .file_bytes = bytes, .start = -1 },
		.spill = -1 };
	a->batch = calloc(1, sizeof(*a->batch));
	/* Only pages that are touched use memory. */
	w->bytes = calloc(1, room);
	w->used = calloc(pages_of(room), sizeof(*w->used));
	return (a->batch != NULL && w->bytes != NULL && w->used != NULL) ||
	    cli_failed(writer->file.path, "cannot be changed");
}

void
additions_close(struct additions *a)
{
	free(a->window.bytes);
	free(a->window.used);
	free(a->batch);
	io_close(a->spill);
}

/* --- the window ----------------------------------------------------------- */

static void
clear(struct additions_window *w, size_t from, size_t end)
{
	for (; from < end; from += PAGE_BYTES) {
		size_t page = from / PAGE_BYTES;
		size_t len = end - from < PAGE_BYTES ? end - from : PAGE_BYTES;

		if (w->used[page])
			memset(w->bytes + from, 0, len);
		w->used[page] = false;
	}
}

/*
 * The offset in the window of the next data (SEEK_DATA) or hole (SEEK_HOLE) of
 * the file, from offset at in the window on; the window's length if there is
 * none. A file system that cannot tell has data everywhere.
 */
static size_t
next(const struct additions_window *w, int fd, size_t at, int what)
{
	off_t found = lseek(fd, w->start + (off_t)at, what);

	if (found == -1 && what == SEEK_DATA && errno != ENXIO)
		return at;
	return found == -1 || found - w->start > (off_t)w->len ?
	    w->len :
	    (size_t)(found - w->start);
}

static bool
read_pages(struct additions *a, size_t from, size_t end)
{
	struct additions_window *w = &a->window;

	if (from == end)
		return true;
	memset(w->used + from / PAGE_BYTES, true,
	    pages_of(end - from) * sizeof(*w->used));
	return cli_read_at(a->writer->file.path, a->writer->file.old,
	    w->bytes + from, end - from, w->start + (off_t)from);
}

/*
 * Loads the part of the old file that begins at offset start, a multiple of
 * WINDOW_BYTES. False after a message.
 */
static bool
load(struct additions *a, off_t start)
{
	struct additions_window *w = &a->window;
	const int fd = a->writer->file.old;
	off_t left = w->file_bytes - start;
	size_t at = 0, data, end;

	w->start = start;
	w->len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	while (at < w->len) {
		data = next(w, fd, at, SEEK_DATA);
		/* Whole pages, even if blocks of the file system are smaller. */
		end = pages_of(next(w, fd, data, SEEK_HOLE)) * PAGE_BYTES;
		if (data < w->len)
			data -= data % PAGE_BYTES;
		/* The file may change between the two. */
		if (end <= data)
			end = data + PAGE_BYTES;
		if (end > w->len)
			end = w->len;
		clear(w, at, data);
		at = end;
		if (!read_pages(a, data, end))
			return false;
	}
	return true;
}

/*
 * Finds the next pages that are used, from *atp on: 0, or where the ones before
 * end. Sets *atp to their offset, and returns how many bytes they have; 0: there
 * are no more.
 */
static size_t
find_used(const struct additions_window *w, size_t *atp)
{
	size_t page = pages_of(*atp), pages = pages_of(w->len), end;

	while (page < pages && !w->used[page])
		page++;
	for (end = page; end < pages && w->used[end];)
		end++;
	*atp = page * PAGE_BYTES;
	if (page == pages)
		return 0;
	return (end == pages ? w->len : end * PAGE_BYTES) - *atp;
}

/* --- the bits ------------------------------------------------------------- */

/* A bit of a key that lies in the window. */
struct hit {
	uint32_t at;  /* its byte, as offset in the window */
	uint16_t key; /* in the batch */
	uint8_t mask;
};

/* Finds the bits of the keys from..end of the batch: how many there are. */
static size_t
find_hits(const struct additions *a, size_t from, size_t end, struct hit *hit)
{
	const struct kv_pkbf_header *h = &a->writer->header;
	const struct additions_window *w = &a->window;
	const uint64_t mask = ((uint64_t)1 << h->length) - 1;
	size_t n = 0;

	for (size_t key = from; key < end; key++) {
		/* The positions of kv_pkbf_position, each by the one before. */
		uint64_t sum = a->batch->hash[key].h1;
		uint64_t step = a->batch->hash[key].h2;

		for (unsigned int i = 0; i < h->hashes; i++) {
			uint64_t bit = sum & mask;
			uint64_t at = KV_PKBF_HEADER_BYTES + bit / 8 -
			    (uint64_t)w->start;

			sum += step;
			step += i + 1;
			/* Before the window starts, at is beyond it, too. */
			if (at >= w->len)
				continue;
			__builtin_prefetch(w->bytes + at, 1);
			hit[n++] = (struct hit){ (uint32_t)at, (uint16_t)key,
				(uint8_t)(0x80U >> bit % 8) };
		}
	}
	return n;
}

/*
 * Sets the bits of the batch that lie in the window. Returns whether any was
 * not set before. No branch: whether a bit is set cannot be predicted.
 */
static bool
set_bits(struct additions *a)
{
	static struct hit hit[GROUP_KEYS * UINT8_MAX];
	struct additions_window *w = &a->window;
	bool changed = false;

	for (size_t from = 0; from < a->n; from += GROUP_KEYS) {
		size_t end = from + GROUP_KEYS < a->n ?
		    from + GROUP_KEYS :
		    a->n;
		size_t n = find_hits(a, from, end, hit);

		for (size_t i = 0; i < n; i++) {
			uint8_t *byte = &w->bytes[hit[i].at];
			bool *is_new = &a->batch->is_new[hit[i].key];
			const bool sets = (*byte & hit[i].mask) == 0;

			*byte |= hit[i].mask;
			w->used[hit[i].at / PAGE_BYTES] = true;
			a->added += sets && !*is_new;
			*is_new |= sets;
			changed |= sets;
		}
	}
	return changed;
}

/* --- batches -------------------------------------------------------------- */

static off_t
batch_offset(uint64_t number)
{
	return (off_t)(number * sizeof(struct additions_batch));
}

/* Writes len bytes of the batch, from p on, as those of batch number. */
static bool
write_batch(const struct additions *a, uint64_t number, const void *p,
    size_t len)
{
	off_t within = (const uint8_t *)p - (const uint8_t *)a->batch;

	return io_write_at(a->spill, p, len, batch_offset(number) + within) ||
	    cli_failed(a->writer->file.path,
		"the keys cannot be kept in a file beside it");
}

static bool
spill_batch(struct additions *a)
{
	if (a->spill == -1 &&
	    !replace_make_scratch(&a->writer->file, &a->spill))
		return false;
	return write_batch(a, a->spilled++, a->batch, sizeof(*a->batch));
}

/* Makes room for another batch. */
static bool
empty_batch(struct additions *a)
{
	bool ok = true;

	if (a->window.file_bytes > WINDOW_BYTES)
		ok = spill_batch(a);
	else if (a->window.start != -1 || (ok = load(a, 0)))
		(void)set_bits(a);
	memset(a->batch->is_new, 0, sizeof(a->batch->is_new));
	a->n = 0;
	return ok;
}

bool
additions_put(struct additions *a, const struct kv_pkbf_hash *h)
{
	if (a->n == ADDITIONS_BATCH && !empty_batch(a))
		return false;
	a->batch->hash[a->n++] = *h;
	return true;
}

static bool
set_all_bits(struct additions *a)
{
	struct additions_batch *b = a->batch;
	const size_t last = a->n;

	if (a->spilled == 0)
		(void)set_bits(a);
	for (uint64_t i = 0; i < a->spilled; i++) {
		if (!cli_read_at(a->writer->file.path, a->spill, b, sizeof(*b),
			batch_offset(i)))
			return false;
		a->n = i == a->spilled - 1 ? last : ADDITIONS_BATCH;
		if (set_bits(a) &&
		    !write_batch(a, i, b->is_new, sizeof(b->is_new)))
			return false;
	}
	return true;
}

/* --- the filter ----------------------------------------------------------- */

/* Sets *knownp if the keys are few and the old file lists them all. */
static bool
look_up_few(const struct additions *a, bool *knownp)
{
	const struct replace *file = &a->writer->file;
	struct kv_pkbf old = { file->old, a->writer->header, NULL };
	enum kv_err r;

	*knownp = a->spilled == 0 && a->window.start == -1 && a->n <= FEW_KEYS;
	for (size_t i = 0; i < a->n && *knownp; i++) {
		r = kv_pkbf_lookup(&old, &a->batch->hash[i], knownp);
		if (r == KV_OK)
			continue;
		return cli_error("%s: %s", file->path,
		    r == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(r));
	}
	return true;
}

static bool
write_window(const struct additions *a)
{
	const struct additions_window *w = &a->window;
	size_t at = 0, len;

	for (; (len = find_used(w, &at)) > 0; at += len) {
		size_t skip = w->start + (off_t)at == 0 ?
		    KV_PKBF_HEADER_BYTES :
		    0;

		if (!pkbf_writer_put(a->writer, w->bytes + at + skip,
			len - skip,
			w->start + (off_t)(at + skip) - KV_PKBF_HEADER_BYTES))
			return false;
	}
	/*
	 * The disk writes while the next window is made: else memory fills with
	 * pages that are not written yet. A hint, no more.
	 */
	(void)sync_file_range(a->writer->file.fd, w->start, (off_t)w->len,
	    SYNC_FILE_RANGE_WRITE);
	return true;
}

/* Begins the new file at the first key that is new. */
static bool
begin_if_new(const struct additions *a)
{
	struct pkbf_writer *w = a->writer;

	return a->added == 0 || w->file.fd != -1 ||
	    pkbf_writer_start(w, &w->header);
}

/*
 * Goes through the filter from its start to its end. *againp: the new file was
 * begun on the way, and lacks what was before.
 */
static bool
go_through(struct additions *a, bool *againp)
{
	const off_t end = a->window.file_bytes;
	const int *fd = &a->writer->file.fd;
	struct progress progress;
	bool ok = true;

	*againp = false;
	progress_start(&progress, "writing", (uint64_t)end);
	for (off_t at = 0; ok && at < end && !*againp; at += WINDOW_BYTES) {
		const bool begun = *fd != -1;

		/* A filter that fits in the window may be there already. */
		ok = (a->window.start == at || load(a, at)) &&
		    set_all_bits(a) && begin_if_new(a);
		*againp = ok && !begun && *fd != -1 && at > 0;
		if (ok && *fd != -1 && !*againp)
			ok = write_window(a);
		progress_add(&progress, a->window.len);
	}
	progress_clear(&progress);
	return ok;
}

bool
additions_apply(struct additions *a, uint64_t *addedp)
{
	struct pkbf_writer *w = a->writer;
	bool known, again = true;

	*addedp = 0;
	if (!look_up_few(a, &known) || (a->spilled > 0 && !spill_batch(a)))
		return false;
	while (!known && again) {
		if (!go_through(a, &again))
			return false;
	}
	if (a->added > UINT32_MAX - w->header.entries)
		return cli_error(
		    "%s: has %lu entries, and its header cannot count more; "
		    "nothing was written",
		    w->file.path, (unsigned long)UINT32_MAX);
	w->header.entries += (uint32_t)a->added;
	*addedp = a->added;
	return true;
}
