/* SPDX-License-Identifier: ISC */
/* publish/pack: SHA-256 of files, and xz to and from files. */
#ifndef CLI_PUBLISH_PACK_H
#define CLI_PUBLISH_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "published/index.h"

/* What a file holds, packed or not. */
struct pack_sum {
	char sha256[INDEX_SHA256_BYTES];
	uint64_t size;
};

/* Reads all of fd from its start. False after a message; shown is its name. */
bool pack_sum(const char *shown, int fd, struct pack_sum *sum);

/*
 * Writes xz of the file behind in, a filter or a list, to out, from offset 0 of
 * both. The same bytes give the same xz. False after a message.
 */
bool pack_xz(const char *shown, int in, enum index_type type,
    const char *out_shown, int out);

/*
 * Unpacks the xz behind in, at most max bytes, and writes them to out (-1:
 * nowhere). Sets *sum to what it holds. False with a reason in why, which ends
 * with strerror if the disk is at fault.
 */
#define PACK_WHY_BYTES 256
bool pack_unpack(int in, int out, uint64_t max, struct pack_sum *sum,
    char why[static PACK_WHY_BYTES]);

#endif
