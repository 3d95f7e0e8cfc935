/* SPDX-License-Identifier: ISC */
/* keys/walk: the regular files in a directory, which input_walk finds. */
#ifndef CLI_KEYS_WALK_H
#define CLI_KEYS_WALK_H

#include <sys/stat.h>

/* How deep a walk goes; so many directories are open then, and the first. */
#define WALK_DEPTH_MAX 64

/* A file that was found, and is not open. */
struct walk_file {
	int dir;	  /* an open directory */
	const char *name; /* in dir */
	const char *path; /* for messages; name is its end */
};

/*
 * Opens a file, non-blocking, and sets *st. -1 with *whyp, which is NULL if
 * there is no regular file of this name any more.
 */
int walk_open(const struct walk_file *file, struct stat *st, const char **whyp);

#endif
