/* SPDX-License-Identifier: ISC */
/*
 * sshd_config/runnable: whether sshd would run the program at path of this
 * process's root directory, by the owner and mode of the file and of each
 * directory above it (OpenSSH's misc.c:safe_path). sshd makes no exception for
 * sticky directories.
 */
#ifndef CLI_SSHD_CONFIG_RUNNABLE_H
#define CLI_SSHD_CONFIG_RUNNABLE_H

#include <stddef.h>

enum runnable {
	RUNNABLE,
	RUNNABLE_DOUBTFUL, /* root's group may write: Debian's sshd allows that */
	RUNNABLE_UNSAFE,
	RUNNABLE_MISSING, /* there is no such file */
};

/*
 * why is set unless the answer is RUNNABLE; it then has a sentence about the
 * first place with that answer.
 */
enum runnable runnable_path(const char *path, char *why, size_t cap);

#endif
