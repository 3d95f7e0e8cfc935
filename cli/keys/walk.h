/* SPDX-License-Identifier: ISC */
/* keys/walk: finds the regular files in a directory and below it. */
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

struct walk_sink {
	/* Gets each regular file, which is valid during this call. */
	void (*file)(const struct walk_file *file, void *arg);
	/* Gets what could not be opened or read, and why. */
	void (*problem)(const char *path, const char *reason, void *arg);
	void *arg;
};

/*
 * Gives the files of the directory fd, which is called path, to the sink, and
 * closes fd. The entries of a directory come in the order of their names, byte
 * by byte. Symbolic links and what is neither file nor directory are passed
 * over, and never opened: opening a device can do something. So are the file
 * systems of the kernel (walk_kernel_name) below fd. Memory holds the names of
 * one path of directories.
 */
void walk_directory(int fd, const char *path, const struct walk_sink *sink);

/*
 * Opens a file, non-blocking, and sets *st. -1 with *whyp, which is NULL if
 * there is no regular file of this name any more.
 */
int walk_open(const struct walk_file *file, struct stat *st, const char **whyp);

/*
 * The name ("proc") of the file system of fd, if the kernel makes its contents
 * up, such as /proc and /sys; else NULL.
 */
const char *walk_kernel_name(int fd);

#endif
