/* SPDX-License-Identifier: ISC */
#include "host/write.h"

#include <errno.h>
#include <unistd.h>

bool
write_all(int fd, const void *p, size_t len)
{
	const char *bytes = p;

	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

bool
write_all_at(int fd, const void *p, size_t len, off_t at)
{
	const char *bytes = p;

	while (len > 0) {
		ssize_t n = pwrite(fd, bytes, len, at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		bytes += n;
		len -= (size_t)n;
		at += n;
	}
	return true;
}
