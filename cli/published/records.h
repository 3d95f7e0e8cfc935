/* SPDX-License-Identifier: ISC */
/*
 * published/records: checks an exact list (kv_blocklist) while its bytes
 * arrive: whole records in ascending order, and none twice.
 */
#ifndef CLI_PUBLISHED_RECORDS_H
#define CLI_PUBLISHED_RECORDS_H

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <sha2.h>

#include "kv_blocklist.h"
#include "kv_fingerprint.h"

#define UPDATE_RECORDS_WHY_BYTES 128

struct update_records {
	SHA2_CTX sha;
	uint64_t n; /* whole records so far */
	uint8_t last[KV_BLOCKLIST_RECORD_BYTES];
	uint8_t part[KV_BLOCKLIST_RECORD_BYTES]; /* of the next record */
	size_t part_len;
	char why[UPDATE_RECORDS_WHY_BYTES];   /* why it is no list; "" so far */
	char sha256[2 * KV_SHA256_BYTES + 1]; /* set by update_records_end */
};

void update_records_begin(struct update_records *r);

/* False, with r->why, if these bytes cannot go on a list. */
bool update_records_add(struct update_records *r, const void *p, size_t len);

/* False, with r->why, if it is no whole list. Sets r->sha256 in any case. */
bool update_records_end(struct update_records *r);

/*
 * Reads all of fd from offset 0, even after a mistake. False with r->why. If it
 * could not be read, r->sha256 is "".
 */
bool update_records_read(struct update_records *r, int fd);

#endif
