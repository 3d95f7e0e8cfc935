/* SPDX-License-Identifier: ISC */
/*
 * filter/pkbf_map: many look-ups at a time in a filter that is mapped into
 * memory.
 *
 * Only for the keyveto command, which lives with a file that another program
 * cuts short: to such a filter everything is listed, here, and kv_pkbf_lookup
 * has to be asked. A login must not depend on that. Otherwise the answers are
 * those of kv_pkbf_lookup.
 */
#ifndef CLI_FILTER_PKBF_MAP_H
#define CLI_FILTER_PKBF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_pkbf.h"

/* What one call can look up. */
#define PKBF_MAP_BATCH 256

struct pkbf_map {
	int fd; /* the filter's */
	void *map;
	const uint8_t *file; /* the same: header and bits */
	size_t bytes;
	struct kv_pkbf_header header;
};

/* Maps an open filter, which stays the caller's. False with errno. */
bool pkbf_map_open(struct pkbf_map *m, const struct kv_pkbf *f);
void pkbf_map_close(struct pkbf_map *m);

/* Sets listed[i] for each of n hashes, at most PKBF_MAP_BATCH, that is in it. */
void pkbf_map_lookup(const struct pkbf_map *m, const struct kv_pkbf_hash *h,
    size_t n, bool *listed);

#endif
