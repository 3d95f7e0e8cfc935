/* SPDX-License-Identifier: ISC */
/*
 * upkeep/notes: what keyveto update remembers of a filter, in the file
 * .NAME.keyveto-update beside it. A file that is missing, damaged or out of
 * date is ignored: then all is fetched again, and a file that was rolled back
 * may return. But a part must never be noted under the ETag of another
 * file, whose bytes would then be appended to it: see update_resume_note.
 */
#ifndef CLI_UPKEEP_NOTES_H
#define CLI_UPKEEP_NOTES_H

#include <sys/stat.h>

#include "net/http_header.h"

#define UPDATE_DIGEST_CHARS 65 /* SHA-256 */
#define UPDATE_BOOT_CHARS 64
#define UPDATE_FILE_CHARS 129 /* INDEX_NAME_MAX, and a NUL */

/*
 * What the files that were installed so far amount to, for update/seen. It is
 * about what was installed under this name, and outlives the file itself.
 */
struct update_seen {
	/*
	 * The highest revision of a filter, or the latest date of a list in
	 * seconds since 1970; -1: not known.
	 */
	int64_t highest;
	/* The most entries, or records; 0: not known. */
	int64_t most;
	/* Bits or records that updates took away, and out of how many. */
	int64_t lost, lost_of;
};

struct update_notes {
	/* The SHA-256 of the URL, which may itself be secret. */
	char source[UPDATE_DIGEST_CHARS];
	/* The server's ETag and date of the installed filter. */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
	/* Whose good signature it has (update_notes_signers); "": none. */
	char signers[UPDATE_DIGEST_CHARS];
	/* Its SHA-256, if it came from a published folder; "": not known. */
	char sha256[UPDATE_DIGEST_CHARS];
	/* File of the settings then; "": none. The ETag is of the index. */
	char file[UPDATE_FILE_CHARS];
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
	struct update_seen seen;
	/*
	 * The latest index of a published folder: its serial and when it
	 * expires (0: there was none), the SHA-256 of its text, whose good
	 * signature it had, and where it was.
	 */
	int64_t index_serial, index_expires;
	char index_sha256[UPDATE_DIGEST_CHARS];
	char index_signers[UPDATE_DIGEST_CHARS];
	char index_source[UPDATE_DIGEST_CHARS];
	/*
	 * Keys in use that the installed file listed newly when it came, and
	 * accounts for which HoldIfRefused keeps a newer one away; for doctor.
	 */
	int64_t in_use, held;
	/* When an update failed after the last one that did not; 0: none. */
	int64_t failed_since;
	/*
	 * The ETag of what was received in part, or "", its URL, and the boot
	 * in which it was received: after a crash it may have holes.
	 */
	char part_etag[HTTP_VALUE_BYTES];
	char part_source[UPDATE_DIGEST_CHARS];
	char part_boot[UPDATE_BOOT_CHARS];
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
/* Clear the notes of the installed filter, or of the part. */
void update_notes_forget_installed(struct update_notes *s);
void update_notes_forget_part(struct update_notes *s);

/* Sets source to the hash of a URL. */
void update_notes_source(const char *url, char source[UPDATE_DIGEST_CHARS]);
/*
 * Sets signers to the hash of identity and of the file of allowed signers,
 * which is read from its offset to its end. False with errno.
 */
bool update_notes_signers(int allowed_signers, const char *identity,
    char signers[UPDATE_DIGEST_CHARS]);
/* Sets boot to the ID of this boot; "" if it is unknown. */
void update_notes_boot(char boot[UPDATE_BOOT_CHARS]);

#endif
