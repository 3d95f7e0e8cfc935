/* SPDX-License-Identifier: ISC */
/*
 * sets/pkbf_map: many lookups at a time in a filter that is mapped into
 * memory.
 *
 * Only for the keyveto command. If another program truncates the file
 * meanwhile, every key is reported as listed here, and the caller must ask
 * kv_pkbf_lookup. A login must not depend on that. Otherwise the answers are
 * those of kv_pkbf_lookup.
 */
#ifndef CLI_SETS_PKBF_MAP_H
#define CLI_SETS_PKBF_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kv_verdict.h"

/* The most hashes in one call. */
#define PKBF_MAP_BATCH 256

struct pkbf_map {
	int fd; /* the filter's */
	void *map;
	const uint8_t *file; /* the same: header and bits */
	size_t bytes;
	atomic_bool lost; /* a page is not the file's */
	struct kv_pkbf_header header;
};

/*
 * Maps an open filter, which must stay open. False if it cannot be mapped.
 * Until pkbf_map_close, m must not move.
 */
bool pkbf_map_open(struct pkbf_map *m, const struct kv_pkbf *f);
void pkbf_map_close(struct pkbf_map *m);

/* Sets listed[i] if h[i] is listed; n is at most PKBF_MAP_BATCH. */
void pkbf_map_lookup(const struct pkbf_map *m, const struct kv_pkbf_hash *h,
    size_t n, bool *listed);

/*
 * Is a kv_lookup_fn. The filter's arg is its map. If the file became shorter,
 * kv_pkbf_lookup answers.
 */
enum kv_err pkbf_map_lookup_one(const struct kv_filter *f,
    const struct kv_pkbf_hash *h, bool *listedp);

#endif
