/* SPDX-License-Identifier: ISC */
/*
 * host/files: opens files for a command that reads what others wrote. Such a
 * command runs behind a wall, in keyveto-worker, which has functions of the
 * same names that ask the front (worker/files.c).
 */
#ifndef CLI_HOST_FILES_H
#define CLI_HOST_FILES_H

#include <sys/stat.h>

#include <stdbool.h>

/*
 * Says that the command will replace the file. It does so before it opens the
 * first file: what an attacker wrote into one has no say in which that is.
 */
void files_promise(const char *path);

/* Whether path means standard input: "-". */
bool files_is_standard_input(const char *path);

/*
 * Opens a file for reading, or standard input for "-". The caller closes it.
 * flags may have O_NONBLOCK: a FIFO or a device is opened without waiting. -1
 * with errno.
 */
int files_open(const char *path, int flags);

/* stat(2), or fstat(2) of standard input for "-". False with errno. */
bool files_stat(const char *path, struct stat *st);

/*
 * Makes a file without a name, in TMPDIR, /var/tmp or /tmp, for what does not
 * fit into memory. The caller closes it. -1 with errno.
 */
int files_scratch(void);

#endif
