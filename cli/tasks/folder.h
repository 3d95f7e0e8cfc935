/* SPDX-License-Identifier: ISC */
/*
 * tasks/folder: has keyveto-worker, behind the wall, read what a published
 * folder has. What a worker says may be a lie of who wrote the file: all but
 * its form is the caller's to check.
 */
#ifndef CLI_TASKS_FOLDER_H
#define CLI_TASKS_FOLDER_H

#include "published/index.h"

/*
 * Sets *lenp to the length of the text before the signature of the index that
 * fd holds; without a signature, to that of all of it. shown is for messages.
 * False after a message.
 */
bool tasks_split(const char *shown, int fd, size_t *lenp);

/*
 * Parses the text of an index, whose SHA-256 it sets. why is "", or what
 * index_parse says of a mistake. False after a message. Always call index_free.
 */
bool tasks_index(const char *shown, int fd, struct index *x,
    char sha256[static INDEX_SHA256_BYTES], char why[static INDEX_WHY_BYTES]);

/* One step from an older file to a newer one. */
struct folder_patch {
	const char *shown, *path; /* of the folder and the file, for messages */
	const struct index_delta *delta;
	enum index_type type;
	uint64_t min, max;   /* how large the new file may be */
	int old, patch, out; /* patch: the delta's file; out is empty */
	bool (*stopped)(void);
};

/*
 * Applies a delta. False if it does not fit, or is not the one of the index:
 * that is no matter for a message. Who wrote the delta may have written anything
 * into out.
 */
bool tasks_patch(const struct folder_patch *p);

#endif
