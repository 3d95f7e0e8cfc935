/* SPDX-License-Identifier: ISC */
#include "kv_pread.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

enum kv_err
kv_pread(int fd, void *buf, size_t len, off_t offset, enum kv_err at_end)
{
	uint8_t *p = buf;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, offset);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return KV_ERR_SYSTEM;
		if (n == 0)
			return at_end;
		p += n;
		len -= (size_t)n;
		offset += n;
	}
	return KV_OK;
}
