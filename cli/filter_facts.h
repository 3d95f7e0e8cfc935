/* SPDX-License-Identifier: ISC */
/* filter_facts: all there is to know of a filter, bit by bit. */
#ifndef CLI_FILTER_FACTS_H
#define CLI_FILTER_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "kv_pkbf.h"

struct filter_facts {
	const char *path;	/* the caller's */
	struct kv_pkbf_header header;
	uint64_t bits, set;
	double share;		/* of bits set */
	double entries;		/* by the bits; infinite if all are set */
};

/* Reads a whole open filter. False after a message. */
bool filter_learn(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts);

/* The share of clean keys that it calls listed. */
double filter_rate_by_header(const struct filter_facts *f);
double filter_rate_by_bits(const struct filter_facts *f);

/* ISO 8601; false for a time that has no such form. */
bool filter_format_time(uint64_t when, char *text, size_t cap);

/*
 * Where header and bits contradict each other, false with a sentence in why.
 * An entry sets at least one bit and at most k, but a filter that was merged
 * may count entries several times: only a tenfold difference is held against
 * it.
 */
bool filter_is_consistent(const struct filter_facts *f, char *why, size_t cap);

#endif
