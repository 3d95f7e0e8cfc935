/* SPDX-License-Identifier: ISC */
/*
 * publish/folder: the files of a published folder but its index:
 * keyveto-index(5).
 *
 * All is opened below the descriptors of the folder and of its two directories,
 * and no symbolic link there is followed: others may write in a web root. A
 * file gets its name once it is whole and on disk. Whoever writes here holds
 * the lock of the index (host/replace), so only one process does.
 */
#ifndef CLI_PUBLISH_FOLDER_H
#define CLI_PUBLISH_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "published/index.h"

enum folder_part { FOLDER_FILES, FOLDER_DELTAS, FOLDER_PARTS };

struct folder {
	const char *path; /* the caller's, for messages */
	int dir;
	int part[FOLDER_PARTS]; /* files/ and deltas/; -1: not there */
};

/* A path below the folder, and where it is. */
struct folder_name {
	char path[INDEX_PATH_BYTES]; /* files/... or deltas/... */
	enum folder_part part;
};

/* A file that has its name only after folder_put. */
struct folder_new {
	const struct folder *folder;
	enum folder_part part;
	int fd; /* for reading and writing; -1: none */
};

struct folder_name folder_packed(const char *sha256);
struct folder_name folder_companion(const char *sha256);
struct folder_name folder_delta(const struct index_delta *d);

/*
 * Opens the folder. With make, makes it and its directories if they are missing,
 * with mode 0755 whatever the umask. Always call folder_close. This and the
 * functions below print a message before they return false.
 */
bool folder_open(struct folder *f, const char *path, bool make);
/* Makes and opens files/ and deltas/, and removes what a killed run left. */
bool folder_make_parts(struct folder *f);
void folder_close(struct folder *f);

/*
 * Opens a file for reading. -1 without a message if there is none, or if it is
 * no regular file; sets *sizep.
 */
int folder_find(const struct folder *f, const struct folder_name *name,
    uint64_t *sizep);
/* Whether there is a file of that name and size. */
bool folder_has(const struct folder *f, const struct folder_name *name,
    uint64_t size);

/* Makes a file, mode 0644. Always call folder_drop, even after folder_put. */
bool folder_new(const struct folder *f, enum folder_part part,
    struct folder_new *n);
/* Flushes it to disk and gives it that name, also if there is such a file. */
bool folder_put(struct folder_new *n, const struct folder_name *name);
/* Closes the file, and removes it if it has no name yet. */
void folder_drop(struct folder_new *n);

/*
 * A file without a name, for what is needed only now; in memory if there is no
 * files/. -1 after a message.
 */
int folder_scratch(const struct folder *f);

/* Flushes the names of what was put in place to disk. */
bool folder_flush(const struct folder *f);

/*
 * Removes the files whose names this program would give, but those for which
 * keep is true. Anything else stays. Sets *np to how many were removed.
 */
bool folder_prune(const struct folder *f,
    bool (*keep)(const char *path, void *arg), void *arg, uint64_t *np);

#endif
