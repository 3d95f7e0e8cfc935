/* SPDX-License-Identifier: ISC */
/*
 * sets/losses: what of an installed file is no longer in the one that is to
 * replace it. Both are read side by side, in constant memory. Counts say little:
 * a file with as many entries may have other ones.
 */
#ifndef CLI_SETS_LOSSES_H
#define CLI_SETS_LOSSES_H

#include "kv_pkbf.h"

/* A file, open as fd; shown is its name in messages. */
struct losses_side {
	const char *shown;
	int fd;
};

/*
 * Sets *setp to the number of bits that are set in the old one of two filters
 * with 2^length bits, and *lostp to how many of these the new one has not.
 * False after a message.
 */
bool losses_of_bits(const struct losses_side *old,
    const struct losses_side *fresh, uint8_t length, uint64_t *setp,
    uint64_t *lostp);

/*
 * Sets *lostp to the number of records of the old list whose hashes the new one
 * has not. A source that is called otherwise is no loss. False after a message
 * if the new one is no list; of an old one only the part before a hole counts.
 */
bool losses_of_records(const struct losses_side *old,
    const struct losses_side *fresh, uint64_t *lostp);

#endif
