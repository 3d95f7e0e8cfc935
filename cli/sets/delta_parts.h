/* SPDX-License-Identifier: ISC */
/* sets/delta_parts: what the files that make deltas share. */
#ifndef CLI_SETS_DELTA_PARTS_H
#define CLI_SETS_DELTA_PARTS_H

#include <stdio.h>

#include "sets/delta.h"
#include "sets/golomb.h"
#include "base/sha256.h"

#define DELTA_BLOCK_BYTES (256 * 1024)
/* The header of a delta of two filters, and of two lists: see delta.c. */
#define DELTA_FILTER_BYTES 135
#define DELTA_LIST_BYTES 119
/* The most of a header, less what is compressed. */
#define DELTA_HEADER_MAX DELTA_FILTER_BYTES

/* All that a header holds. */
struct delta_full_header {
	struct delta_header h;
	uint8_t old_raw[KV_PKBF_HEADER_BYTES], new_raw[KV_PKBF_HEADER_BYTES];
	/*
	 * Of the gaps of bits that were set or records that went; of those of
	 * records that came.
	 */
	uint64_t m, came_m;
	uint64_t gone_bytes; /* of the codes of the records that went */
};

/* Writes a sentence to why. Returns DELTA_NO_SUCCESSOR. */
enum delta_end delta_refuse(char why[static DELTA_WHY_BYTES], const char *fmt,
    ...) __attribute__((format(printf, 2, 3)));

/* Writes the header at the beginning of out. False after a message. */
bool delta_write_header(const struct delta_file *out,
    const struct delta_full_header *x);

/*
 * DELTA_DONE if these are the SHA-256 of the header's files; otherwise
 * DELTA_NO_SUCCESSOR.
 */
enum delta_end delta_judge_hashes(const struct delta_header *h,
    const uint8_t old[static SHA256_BYTES],
    const uint8_t fresh[static SHA256_BYTES], char why[static DELTA_WHY_BYTES]);

/* sets/delta_filter.c and sets/delta_list.c: as delta_make and delta_apply. */
typedef enum delta_end delta_making(const struct delta_file *old,
    const struct delta_file *fresh, const struct delta_file *out,
    char why[static DELTA_WHY_BYTES]);
typedef enum delta_end delta_applying(const struct delta_file *old,
    const struct delta_file *delta, const struct delta_full_header *x,
    const struct delta_file *out, char why[static DELTA_WHY_BYTES]);
delta_making delta_make_filter, delta_make_list;
delta_applying delta_apply_filter, delta_apply_list;

#endif
