/* SPDX-License-Identifier: ISC */
/* update/unwanted: the file that was rolled back from last, by its SHA-256. */
#ifndef CLI_UPDATE_UNWANTED_H
#define CLI_UPDATE_UNWANTED_H

#include "upkeep/notes.h"

/* Whether the notes have this file. */
bool update_unwanted_is(const struct update_notes *s, const char *sha256);

/* Has the notes forget it, since it was installed again. */
void update_unwanted_forget(struct update_notes *s, const char *sha256);

/* Prints that the server, shown, still has such a file, which is called name. */
void update_unwanted_report(const char *shown, const char *name);

#endif
