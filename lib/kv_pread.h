/* SPDX-License-Identifier: ISC */
/* kv_pread: reads at an offset of a file. */
#ifndef KV_PREAD_H
#define KV_PREAD_H

#include <sys/types.h>

#include <stdint.h>
#include <string.h>

#include "kv_err.h"

/*
 * Reads exactly len bytes at offset of fd into buf. Errors: KV_ERR_SYSTEM
 * (errno); at_end if the file ends before.
 */
KV_MUST_CHECK enum kv_err kv_pread(int fd, void *buf, size_t len, off_t offset,
    enum kv_err at_end);

/* The same of a file that is mapped at map; NULL, as in a login: it is not. */
KV_MUST_CHECK static inline enum kv_err
kv_read_at(int fd, const uint8_t *map, void *buf, size_t len, off_t offset,
    enum kv_err at_end)
{
	if (map == NULL)
		return kv_pread(fd, buf, len, offset, at_end);
	memcpy(buf, map + offset, len);
	return KV_OK;
}

#endif
