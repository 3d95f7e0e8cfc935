/* SPDX-License-Identifier: ISC */
/*
 * update/unwanted: the files that were rolled back from, by their SHA-256. None
 * of them is installed again but by --force. A revision number would not do: of
 * a filter with the highest possible one, no later revision can follow.
 */
#ifndef CLI_UPDATE_UNWANTED_H
#define CLI_UPDATE_UNWANTED_H

#include "upkeep/notes.h"

/* Adds a file to the notes. Of many, the one that was added first is dropped. */
void update_unwanted_add(struct update_notes *s, const char *sha256);

/* Removes it, since it was installed again. */
void update_unwanted_remove(struct update_notes *s, const char *sha256);

bool update_unwanted_has(const struct update_notes *s, const char *sha256);

/* Prints that the server, shown, still has such a file, which is called name. */
void update_unwanted_report(const char *shown, const char *name);

#endif
