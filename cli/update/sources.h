/* SPDX-License-Identifier: ISC */
/*
 * update/sources: the file LIST.sources (kv_sources) beside an exact list. It
 * has the names of the list's sources, and in comments what else the manifest
 * said of the list:
 *
 *   # date 2026-11-20
 *   # time 2026-11-20T10:00:00Z
 *   # sha256 0123...             of the list
 *   1 debianssl OWNER/REPOSITORY BRANCH/FOLDER
 */
#ifndef CLI_UPDATE_SOURCES_H
#define CLI_UPDATE_SOURCES_H

#include "published/manifest.h"

#define UPDATE_DATE_BYTES 32

/* What is known of an installed list. */
struct update_sources {
	char sha256[2 * KV_SHA256_BYTES + 1]; /* "": not known */
	int64_t time;			      /* -1: not known */
};

/* Writes a time as in the file. */
void update_sources_date(int64_t time, char date[static UPDATE_DATE_BYTES]);

/* The text of the file, which the caller frees. NULL after a message. */
char *update_sources_text(const struct manifest *m);

/*
 * The same of a list that has no manifest, but perhaps a file with its sources:
 * lines, a text, or NULL.
 */
char *update_sources_text_of(int64_t time, const char *sha256,
    const char *lines);

/* Reads the comments of a text, which ends with a NUL. */
void update_sources_parse(const char *text, struct update_sources *s);

/* The same of the file of the list at path. */
void update_sources_read(const char *path, struct update_sources *s);
/* The same of NAME.previous of that file. */
void update_sources_read_previous(const char *path, struct update_sources *s);

/*
 * Replaces the file of the list at path, unless it has this text already. With
 * keep_old, the old one becomes NAME.previous. False after a message.
 */
bool update_sources_write(const char *path, const char *text, bool keep_old);

/* Exchanges the file of the list at path with its NAME.previous, if any. */
bool update_sources_exchange(const char *path);

#endif
