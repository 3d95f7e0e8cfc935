/* SPDX-License-Identifier: ISC */
#include "host/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool
proc_read_start(const char *pid, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, text, cap - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool
proc_read_link(const char *pid, const char *name, char path[static PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%.20s/%s", pid, name);
	if ((n = readlink(link, path, PATH_MAX - 1)) <= 0)
		return false;
	path[n] = '\0';
	return true;
}
