/* SPDX-License-Identifier: ISC */
/*
 * sets/losses: what of an installed file is no longer in the one that is to
 * replace it. Both are read side by side, in constant memory. Counts say little:
 * a file with as many entries may have other ones.
 */
#ifndef CLI_SETS_LOSSES_H
#define CLI_SETS_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

/* A file, open as fd; shown is its name in messages. */
struct losses_side {
	const char *shown;
	int fd;
};

/*
 * Sets *lostp to the number of records of the old list whose hashes the new one
 * has not. A source that is called otherwise is no loss. False after a message
 * if the new one is no list; of an old one only the part before a hole counts.
 */
bool losses_of_records(const struct losses_side *old,
    const struct losses_side *fresh, uint64_t *lostp);

#endif
