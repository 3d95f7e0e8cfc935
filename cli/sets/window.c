/* SPDX-License-Identifier: ISC */
#include "sets/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static size_t
pages_of(size_t bytes)
{
	return (bytes + WINDOW_PAGE_BYTES - 1) / WINDOW_PAGE_BYTES;
}

bool
window_open(struct window *w, const char *path, off_t file_bytes)
{
	size_t room = file_bytes < WINDOW_BYTES ?
	    (size_t)file_bytes :
	    WINDOW_BYTES;

	*w = (struct window){ .path = path,
		.file_bytes = file_bytes,
		.start = -1 };
	/* Only pages that are touched use memory. */
	w->bytes = calloc(1, room);
	w->used = calloc(pages_of(room), sizeof(*w->used));
	return (w->bytes != NULL && w->used != NULL) ||
	    cli_failed(path, "cannot be changed");
}

void
window_close(struct window *w)
{
	free(w->bytes);
	free(w->used);
	w->bytes = NULL;
	w->used = NULL;
}

bool
window_is_whole(const struct window *w)
{
	return w->file_bytes <= WINDOW_BYTES;
}

/* Makes the pages from..end zero. */
static void
clear(struct window *w, size_t from, size_t end)
{
	for (; from < end; from += WINDOW_PAGE_BYTES) {
		size_t page = from / WINDOW_PAGE_BYTES;
		size_t len = end - from < WINDOW_PAGE_BYTES ?
		    end - from :
		    WINDOW_PAGE_BYTES;

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
next(const struct window *w, int fd, size_t at, int what)
{
	off_t found = lseek(fd, w->start + (off_t)at, what);

	if (found == -1 && what == SEEK_DATA && errno != ENXIO)
		return at;
	return found == -1 || found - w->start > (off_t)w->len ?
	    w->len :
	    (size_t)(found - w->start);
}

/* Reads the pages from..end. */
static bool
read_pages(struct window *w, int fd, size_t from, size_t end)
{
	if (from == end)
		return true;
	memset(w->used + from / WINDOW_PAGE_BYTES, true,
	    pages_of(end - from) * sizeof(*w->used));
	return cli_read_at(w->path, fd, w->bytes + from, end - from,
	    w->start + (off_t)from);
}

bool
window_load(struct window *w, int fd, off_t start)
{
	off_t left = w->file_bytes - start;
	size_t at = 0, data, end;

	w->start = start;
	w->len = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	while (at < w->len) {
		data = next(w, fd, at, SEEK_DATA);
		/* Whole pages, even if blocks of the file system are smaller. */
		end = pages_of(next(w, fd, data, SEEK_HOLE)) *
		    WINDOW_PAGE_BYTES;
		if (data < w->len)
			data -= data % WINDOW_PAGE_BYTES;
		/* The file may change between the two. */
		if (end <= data)
			end = data + WINDOW_PAGE_BYTES;
		if (end > w->len)
			end = w->len;
		clear(w, at, data);
		at = end;
		if (!read_pages(w, fd, data, end))
			return false;
	}
	return true;
}

size_t
window_next_used(const struct window *w, size_t *atp)
{
	size_t page = pages_of(*atp), pages = pages_of(w->len), end;

	while (page < pages && !w->used[page])
		page++;
	for (end = page; end < pages && w->used[end];)
		end++;
	*atp = page * WINDOW_PAGE_BYTES;
	if (page == pages)
		return 0;
	return (end == pages ? w->len : end * WINDOW_PAGE_BYTES) - *atp;
}
