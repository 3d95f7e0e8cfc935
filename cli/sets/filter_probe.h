/* SPDX-License-Identifier: ISC */
/*
 * sets/filter_probe: looks random keys up in a filter, to see how many it lists.
 * The rates of sets/filter_facts take the positions of a key for independent,
 * which they are not: a filter can be made that lists many times as many keys.
 */
#ifndef CLI_SETS_FILTER_PROBE_H
#define CLI_SETS_FILTER_PROBE_H

#include "kv_pkbf.h"

struct filter_probe {
	uint64_t keys, listed;
};

/*
 * Looks up to 200,000 random keys up, by two random hashes each, for at most
 * half a second. A filter that is not in memory is read at random places. False
 * after a message that begins with path.
 */
bool filter_probe_run(const char *path, const struct kv_pkbf *f,
    struct filter_probe *p);

/*
 * Whether the share of all keys that the filter lists is above rate with a
 * confidence of 99.99 %: a filter with exactly that rate would list as many of
 * the keys of p in less than one probe in 10,000.
 */
bool filter_probe_exceeds(const struct filter_probe *p, double rate);

#endif
