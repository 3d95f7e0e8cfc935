/* SPDX-License-Identifier: ISC */
/*
 * reading/opened: the files by which keys are judged, as this process opened
 * them; keyveto-reader gets them, and reads them.
 */
#ifndef CLI_READING_OPENED_H
#define CLI_READING_OPENED_H

#include "kv_verdict.h"
#include "reading/talk.h"

struct opened_files;

/*
 * config is the path of the configuration, or NULL if none is opened: it must live
 * as long. NULL without memory.
 */
struct opened_files *opened_files_new(const char *config);
void opened_files_free(struct opened_files *files);

/* Is told what opening a file gave. */
void opened_files_add(struct opened_files *files, const char *path,
    enum kv_err err, int fd, const char *why);

/* An errno: not all can be handed over; 0 if all can. */
int opened_files_error(const struct opened_files *files);

/* What stands in READING_SETUP besides the configuration. */
struct opened_setup {
	size_t threads;
	unsigned int flags;
	uint64_t total;
	/* The filters and lists that count; NULL: the configuration's. */
	const struct kv_paths *paths;
};

/* The descriptor of the file at path, which stays theirs; -1: there is none. */
int opened_files_find(const struct opened_files *files, const char *path);

/* Sends READING_SETUP, the files, and READING_JUDGE. */
void opened_files_send(const struct opened_files *files,
    const struct opened_setup *setup, struct talk *t);

#endif
