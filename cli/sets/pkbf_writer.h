/* SPDX-License-Identifier: ISC */
/*
 * sets/pkbf_writer: makes filters and adds to them, by host/replace. So
 * readers see the old filter or the new one, and only one process writes at a
 * time.
 */
#ifndef CLI_SETS_PKBF_WRITER_H
#define CLI_SETS_PKBF_WRITER_H

#include "host/replace.h"
#include "kv_pkbf.h"

struct pkbf_writer {
	struct replace file;
	struct kv_pkbf_header header; /* what pkbf_writer_commit writes */
};

/*
 * Opens the file, as set_replace. Always call replace_close for w->file, even
 * after a failure. These functions print a message before they return false.
 */
bool pkbf_writer_open(struct pkbf_writer *w, const char *path);

/* Loads the header of the old filter. Fails if there is none. */
bool pkbf_writer_load(struct pkbf_writer *w);

/* Begins a new filter with this header and no bit set. */
bool pkbf_writer_start(struct pkbf_writer *w, const struct kv_pkbf_header *h);

/*
 * Call after pkbf_writer_start. Writes len bytes of bits, at byte offset at of
 * the bits. Bytes that are zero, or never written, use no space on disk.
 */
bool pkbf_writer_put(struct pkbf_writer *w, const uint8_t *bits, size_t len,
    off_t at);

/*
 * Writes the header and replaces the old file. As root, warns if a login would
 * not trust the filter there. Does nothing if nothing was started or added.
 */
bool pkbf_writer_commit(struct pkbf_writer *w);

#endif
