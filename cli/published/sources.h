/* SPDX-License-Identifier: ISC */
/*
 * published/sources: the text of the file LIST.sources (kv_sources) beside an
 * exact list. It has the names of the list's sources, and in comments what else
 * the manifest said of the list:
 *
 *   # date 2026-11-20
 *   # time 2026-11-20T10:00:00Z
 *   # sha256 0123...             of the list
 *   1 debianssl OWNER/REPOSITORY BRANCH/FOLDER
 */
#ifndef CLI_PUBLISHED_SOURCES_H
#define CLI_PUBLISHED_SOURCES_H

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

/* Reads the comments of a text, which ends with a NUL. */
void update_sources_parse(const char *text, struct update_sources *s);

#endif
