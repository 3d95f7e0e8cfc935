/* SPDX-License-Identifier: ISC */
/*
 * update/chain: the cheapest way from one file to the newest, by the deltas of an
 * index. It takes time in proportion to the square of their number, which
 * published/index bounds.
 */
#ifndef CLI_UPDATE_CHAIN_H
#define CLI_UPDATE_CHAIN_H

#include "published/index.h"

struct update_chain {
	const struct index_delta *step[INDEX_DELTAS]; /* the index's */
	size_t n;
	uint64_t bytes; /* of all steps */
};

/*
 * Sets c to the deltas that lead from the file with the SHA-256 from to f, with
 * the fewest bytes in all. False if none do.
 */
bool update_chain_find(const struct index_file *f, const char *from,
    struct update_chain *c);

#endif
