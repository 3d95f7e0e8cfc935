/* SPDX-License-Identifier: ISC */
/*
 * filter/pkbf_writer: making filter files and adding to them, on top of
 * replace: readers see the old filter or the new one, and writers take turns.
 */
#ifndef CLI_FILTER_PKBF_WRITER_H
#define CLI_FILTER_PKBF_WRITER_H

#include "host/replace.h"
#include "kv_pkbf.h"

struct pkbf_writer {
	struct replace file;
	struct kv_pkbf_header header; /* what commit will write */
	/* The new file, while add fills it; before that the old, or NULL. */
	uint8_t *map;
	size_t map_bytes;
};

/*
 * Waits until no other keyveto writes the file, and opens what is there, if
 * anything (w->file.old). Ended by pkbf_writer_close, also after false. False
 * comes after a message, here as below.
 */
bool pkbf_writer_open(struct pkbf_writer *w, const char *path);

/*
 * Before start: whether what is there may be replaced. A filter may. With force
 * anything else may, and will be kept beside the new filter. False after a
 * message.
 */
bool pkbf_writer_may_replace(struct pkbf_writer *w, bool force);

/* Goes on from the filter that is there; there must be one. */
bool pkbf_writer_load(struct pkbf_writer *w);

/* Begins a filter with this header and no bit set, instead of what is there. */
bool pkbf_writer_start(struct pkbf_writer *w, const struct kv_pkbf_header *h);

/*
 * After load: adds an SPKI by its hash as the reference does. *addedp turns
 * false, and nothing changes, when it is (probably) there already; else its
 * bits are set and it counts as an entry. The file is copied when the first
 * one is added.
 */
bool pkbf_writer_add(struct pkbf_writer *w, const struct kv_pkbf_hash *h,
    bool *addedp);

/*
 * After start: writes bytes of bits, from byte offset at of the bits on. What
 * is never written, or written as zeros, takes no space on disk.
 */
bool pkbf_writer_put(struct pkbf_writer *w, const uint8_t *bits, size_t len,
    off_t at);

/*
 * Writes the header, and puts the filter in place; as root, it warns if a login
 * would not trust it there. Does nothing if nothing was begun or added.
 */
bool pkbf_writer_commit(struct pkbf_writer *w);

void pkbf_writer_close(struct pkbf_writer *w);

#endif
