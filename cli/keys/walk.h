/* SPDX-License-Identifier: ISC */
/* keys/walk: finds the regular files in a directory and below it. */
#ifndef CLI_KEYS_WALK_H
#define CLI_KEYS_WALK_H

struct walk_sink {
	/* Gets each regular file, open, non-blocking; walk closes fd. */
	void (*file)(int fd, const char *path, void *arg);
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
 * The name ("proc") of the file system of fd, if the kernel makes its contents
 * up, such as /proc and /sys; else NULL.
 */
const char *walk_kernel_name(int fd);

#endif
