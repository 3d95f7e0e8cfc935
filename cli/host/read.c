/* SPDX-License-Identifier: ISC */
#include "host/read.h"

#include <errno.h>
#include <unistd.h>

ssize_t
read_all(int fd, void *p, size_t cap)
{
	size_t len = 0;
	ssize_t n;

	while (len < cap && (n = read(fd, (char *)p + len, cap - len)) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		len += (size_t)n;
	}
	return (ssize_t)len;
}
