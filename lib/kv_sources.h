/* SPDX-License-Identifier: ISC */
/*
 * kv_sources: the names of the sources in an exact list (kv_blocklist).
 *
 * keyveto update writes them to a small text file beside the list, whose name
 * is the list's with ".sources" added. A line is an id from 0 to 255, a blank
 * and a name. After another blank, more words may follow, which are not read
 * here. Lines that begin with # and lines in another form are passed over.
 */
#ifndef KV_SOURCES_H
#define KV_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#define KV_SOURCES_SUFFIX ".sources"
/* A name has at most 63 of [A-Za-z0-9._-]. */
#define KV_SOURCE_NAME_BYTES 64
/* What lies behind this offset of the file is passed over. */
#define KV_SOURCES_MAX_BYTES 16384

/*
 * Writes the name of source id to name. It is "id13" for an id of 13 that the
 * file behind fd does not name, if the file cannot be read, or if fd is -1.
 */
void kv_sources_name(int fd, uint8_t id,
    char name[static KV_SOURCE_NAME_BYTES]);

/*
 * Does the same, and writes to more, of cap bytes, what follows the name and a
 * blank: "" if nothing does, or if it does not fit.
 */
void kv_sources_read(int fd, uint8_t id, char name[static KV_SOURCE_NAME_BYTES],
    char *more, size_t cap);

#endif
