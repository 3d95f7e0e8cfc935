/* SPDX-License-Identifier: ISC */
/*
 * update/notes: what keyveto update remembers of a filter, in a file
 * .NAME.keyveto-update beside it. One that is missing, damaged or out of date
 * is ignored: then all is fetched again, and what was rolled back from may
 * return. But a part that is called by another's ETag would be completed with
 * bytes of that other file: see update/install.c, name_part.
 */
#ifndef CLI_UPDATE_NOTES_H
#define CLI_UPDATE_NOTES_H

#include <sys/stat.h>

#include "update/http_header.h"

#define UPDATE_DIGEST_CHARS 65 /* SHA-256 */
#define UPDATE_BOOT_CHARS 64

struct update_notes {
	/* The SHA-256 of the URL, which may be a secret. */
	char source[UPDATE_DIGEST_CHARS];
	/* What the server calls the filter that is installed. */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
	/* By whom its signature was found to be good; "" by nobody. */
	char signers[UPDATE_DIGEST_CHARS];
	/* The file that this is said of; it may have been changed since. */
	int64_t size, mtime, mtime_ns;
	/* The latest revision that was rolled back from; -1: none. */
	int64_t unwanted;
	/*
	 * The ETag of what was received in part, or "", and since which start
	 * of the machine: after a crash it may have holes.
	 */
	char part_etag[HTTP_VALUE_BYTES];
	char part_source[UPDATE_DIGEST_CHARS];
	char part_boot[UPDATE_BOOT_CHARS];
};

void update_notes_clear(struct update_notes *s);

/* Of the filter called name in dir. Clear, if there is nothing to be read. */
void update_notes_load(int dir, const char *name, struct update_notes *s);
/* In one step. False with errno. */
bool update_notes_save(int dir, const char *name, const struct update_notes *s);
/* The same, where a failure need only be told. */
void update_notes_keep(int dir, const char *name, const struct update_notes *s);

/* Whether what it says of the filter installed is about this file. */
bool update_notes_fits(const struct update_notes *s, const struct stat *st);
void update_notes_fit(struct update_notes *s, const struct stat *st);
/* Forgets what it says of the filter installed. */
void update_notes_forget_installed(struct update_notes *s);
void update_notes_forget_part(struct update_notes *s);

/* The name that source gets for a URL. */
void update_notes_source(const char *url, char source[UPDATE_DIGEST_CHARS]);
/*
 * The name that signers gets for that identity in a file of allowed signers,
 * which is only read. False with errno.
 */
bool update_notes_signers(int allowed_signers, const char *identity,
    char signers[UPDATE_DIGEST_CHARS]);
/* Which start of the machine this is; "" if it cannot be told. */
void update_notes_boot(char boot[UPDATE_BOOT_CHARS]);

#endif
