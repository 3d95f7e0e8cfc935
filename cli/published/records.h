/* SPDX-License-Identifier: ISC */
/*
 * published/records: checks an exact list (kv_blocklist): whole records in
 * ascending order, and none twice. What was found, one process tells another.
 */
#ifndef CLI_PUBLISHED_RECORDS_H
#define CLI_PUBLISHED_RECORDS_H

#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <sha2.h>

#include "base/record.h"
#include "kv_blocklist.h"
#include "kv_fingerprint.h"

#define UPDATE_RECORDS_WHY_BYTES 128

/* What was found of a list. */
struct update_records {
	uint64_t n;			      /* whole records so far */
	char why[UPDATE_RECORDS_WHY_BYTES];   /* why it is no list; "" so far */
	char sha256[2 * KV_SHA256_BYTES + 1]; /* "": it could not be read */
};

/*
 * Reads all of fd from offset 0, even after a mistake. False with r->why. If it
 * could not be read, r->sha256 is "".
 */
bool update_records_read(struct update_records *r, int fd);

/* Adds what was found to a record that was begun. */
void update_records_put(struct record_out *o, const struct update_records *r);
/* Takes it, as a stranger may tell it. False for what none of ours tells. */
KV_MUST_CHECK bool update_records_get(struct kv_bytes b,
    struct update_records *r);

/* --- while its bytes arrive --------------------------------------------- */

struct update_records_check {
	SHA2_CTX sha;
	uint8_t last[KV_BLOCKLIST_RECORD_BYTES];
	uint8_t part[KV_BLOCKLIST_RECORD_BYTES]; /* of the next record */
	size_t part_len;
	struct update_records *found; /* the caller's */
	bool only_order;	      /* leave sha256 out */
};

void update_records_begin(struct update_records_check *c,
    struct update_records *found);

/* False, with a reason, if these bytes cannot go on a list. */
bool update_records_add(struct update_records_check *c, const void *p,
    size_t len);

/* False, with a reason, if it is no whole list. Sets sha256 in any case. */
bool update_records_end(struct update_records_check *c);

#endif
