/* SPDX-License-Identifier: ISC */
#include "host/system_file.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

bool
system_file_resolve(const char *path, char place[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];
	struct stat st;
	size_t len;
	int n;

	if (realpath(path, place) != NULL)
		return true;
	if (errno != ENOENT || slash == NULL || lstat(path, &st) == 0)
		return false;
	snprintf(above, sizeof(above), "%.*s", (int)(slash + 1 - path), path);
	if (realpath(above, place) == NULL)
		return false;
	len = strcmp(place, "/") == 0 ? 0 : strlen(place);
	n = snprintf(place + len, PATH_MAX - len, "%s", slash);
	if (n >= 0 && (size_t)n < PATH_MAX - len)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

bool
system_file_is_same(const char *a, const char *b)
{
	struct stat one, other;

	return strcmp(a, b) == 0 ||
	    (stat(a, &one) == 0 && stat(b, &other) == 0 &&
		io_is_same(&one, &other));
}

char *
system_file_read(const char *path, size_t *lenp)
{
	int fd = system_file_open(path, O_RDONLY);
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	*lenp = 0;
	if (fd == -1)
		return NULL;
	if (fstat(fd, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			errno = EINVAL;
		else if (st.st_size > SYSTEM_FILE_MAX_BYTES)
			errno = EMSGSIZE;
		else if ((text = malloc((size_t)st.st_size + 2)) != NULL)
			n = io_read(fd, text, (size_t)st.st_size + 1);
	}
	if (n != -1 && n > st.st_size) {
		errno = EAGAIN; /* it grew */
		n = -1;
	}
	io_close(fd);
	if (n == -1) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*lenp = (size_t)n;
	return text;
}

bool
system_file_is_masked(const char *path)
{
	int fd = system_file_open(path, O_PATH);
	struct stat st;
	bool masked;

	if (fd == -1)
		return false;
	masked = fstat(fd, &st) == 0 &&
	    (S_ISDIR(st.st_mode) ||
		(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)));
	close(fd);
	return masked;
}
