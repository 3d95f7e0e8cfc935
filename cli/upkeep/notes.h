/* SPDX-License-Identifier: ISC */
/*
 * upkeep/notes: what keyveto update remembers of a filter, in the file
 * .NAME.keyveto-update beside it. A file that is missing, damaged or out of
 * date is ignored: then all is fetched again, and a file that was rolled back
 * may return.
 */
#ifndef CLI_UPKEEP_NOTES_H
#define CLI_UPKEEP_NOTES_H

#include <sys/stat.h>

#include <stdint.h>

#include "net/http_header.h"

#define UPDATE_DIGEST_CHARS 65 /* SHA-256 */

struct update_notes {
	/* The SHA-256 of the URL, which may itself be secret. */
	char source[UPDATE_DIGEST_CHARS];
	/* The server's ETag and date of the installed filter, or its signature. */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
	/* The SHA-256 of its signature on the server; "": none is needed. */
	char signature[UPDATE_DIGEST_CHARS];
	/* Whose good signature that is (update_notes_signers); "": none. */
	char signers[UPDATE_DIGEST_CHARS];
	/* The file that these notes are about. It may have changed since. */
	int64_t size, mtime, mtime_ns;
	/* The revision that was rolled back last; -1: none. */
	int64_t unwanted;
	/*
	 * The SHA-256 of the file that was rolled back from last; "": none. It
	 * is not installed again but by --force. A revision number would not
	 * do: of a filter with the highest possible one, no later one can
	 * follow.
	 */
	char unwanted_file[UPDATE_DIGEST_CHARS];
	/* 1: since the last rollback, no other file was found or installed. */
	int64_t rolled_back;
	/*
	 * The highest revision of a filter, or the latest date of a list in
	 * seconds since 1970, that was installed under this name; -1: not known.
	 * It outlives the file itself.
	 */
	int64_t highest;
	/* When the latest manifest of a list expires; 0: never. */
	int64_t expires;
	/*
	 * Keys in use that the installed file listed newly when it came, and
	 * accounts for which HoldIfRefused keeps a newer one away; for doctor.
	 */
	int64_t in_use, held;
	/* When an update failed after the last one that did not; 0: none. */
	int64_t failed_since;
	/* When an update last succeeded, with or without news; 0: not known. */
	int64_t asked;
};

/*
 * Loads the notes of filter name in dir; empty if there are none, which is
 * false. Those of the installed filter only if they are about the file with the
 * stat filter; NULL: there is none.
 */
bool update_notes_load(int dir, const char *name, const struct stat *filter,
    struct update_notes *s);
/* Saves the notes in one step. False with errno. */
bool update_notes_save(int dir, const char *name, const struct update_notes *s);
/* As update_notes_save, but prints a warning on failure. */
void update_notes_keep(int dir, const char *name, const struct update_notes *s);

/* Has the notes of the installed filter be about the file with this stat. */
void update_notes_fit(struct update_notes *s, const struct stat *st);
/* Clears the notes of the installed filter. */
void update_notes_forget_installed(struct update_notes *s);

/* Sets source to the hash of a URL. */
void update_notes_source(const char *url, char source[UPDATE_DIGEST_CHARS]);
/*
 * Sets signers to the hash of identity and of the file of allowed signers,
 * which is read from its offset to its end. False with errno.
 */
bool update_notes_signers(int allowed_signers, const char *identity,
    char signers[UPDATE_DIGEST_CHARS]);

#endif
