/* SPDX-License-Identifier: ISC */
/*
 * update/sources: the file LIST.sources beside an exact list
 * (published/sources).
 */
#ifndef CLI_UPDATE_SOURCES_H
#define CLI_UPDATE_SOURCES_H

#include "published/sources.h"

/* Reads the comments of the file of the list at path, or of NAME.previous. */
void update_sources_read(const char *path, bool previous,
    struct update_sources *s);

/*
 * Replaces the file of the list at path, unless it has this text already. With
 * keep_old, the old one becomes NAME.previous. False after a message.
 */
bool update_sources_write(const char *path, const char *text, bool keep_old);

/* Exchanges the file of the list at path with its NAME.previous, if any. */
bool update_sources_exchange(const char *path);

#endif
