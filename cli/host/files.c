/* SPDX-License-Identifier: ISC */
/* Opens files of a command that runs in this process. */
#include "host/files.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
files_promise(const char *path)
{
	/* The process that replaces it is this one. */
	(void)path;
}

bool
files_is_standard_input(const char *path)
{
	return strcmp(path, "-") == 0;
}

int
files_open(const char *path, int flags)
{
	if (files_is_standard_input(path))
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	return open(path,
	    O_RDONLY | O_CLOEXEC | O_NOCTTY | (flags & O_NONBLOCK));
}

bool
files_stat(const char *path, struct stat *st)
{
	if (files_is_standard_input(path))
		return fstat(STDIN_FILENO, st) == 0;
	return stat(path, st) == 0;
}

/* Makes a file in the folder and removes its name. -1 with errno. */
static int
make_scratch(const char *folder)
{
	char path[PATH_MAX];
	const int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	const int len = snprintf(path, sizeof(path), "%s/keyveto-XXXXXX",
	    folder);
	int named;

	if (fd != -1 || len < 0 || (size_t)len >= sizeof(path))
		return fd;
	if ((named = mkostemp(path, O_CLOEXEC)) != -1)
		(void)unlink(path);
	return named;
}

int
files_scratch(void)
{
	const char *const folder[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; fd == -1 && i < sizeof(folder) / sizeof(*folder);
	     i++)
		if (folder[i] != NULL && folder[i][0] == '/')
			fd = make_scratch(folder[i]);
	return fd;
}
