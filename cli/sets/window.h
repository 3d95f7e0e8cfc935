/* SPDX-License-Identifier: ISC */
/*
 * sets/window: a part of a filter in memory, so that a filter that is larger
 * than memory can be changed: one part after another is loaded, changed and
 * written. It costs what its data cost; holes of the file cost nothing.
 */
#ifndef CLI_SETS_WINDOW_H
#define CLI_SETS_WINDOW_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both are multiples of a page, so that windows begin and end with pages. */
#define WINDOW_BYTES (64 * 1024 * 1024)
#define WINDOW_PAGE_BYTES 4096

struct window {
	const char *path; /* for messages; the caller's */
	off_t file_bytes; /* the size of the file */
	off_t start;	  /* offset in the file; -1 before window_load */
	size_t len;	  /* bytes of the file, at most WINDOW_BYTES */
	uint8_t *bytes;
	bool *used; /* for each page: may have other bytes than zeros */
};

/*
 * A window on a file of this size. False after a message. Always call
 * window_close, even then.
 */
bool window_open(struct window *w, const char *path, off_t file_bytes);
void window_close(struct window *w);

/*
 * Whether the window takes in the whole file. Then it is loaded but once.
 */
bool window_is_whole(const struct window *w);

/*
 * Loads the part of the file behind fd that begins at offset start, a multiple
 * of WINDOW_BYTES. False after a message.
 */
bool window_load(struct window *w, int fd, off_t start);

/*
 * Finds the next pages that are used, from *atp on: 0, or where the ones before
 * end. Sets *atp to their offset, and returns how many bytes
 * they have; 0: there are no more.
 */
size_t window_next_used(const struct window *w, size_t *atp);

#endif
