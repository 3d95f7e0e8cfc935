/* SPDX-License-Identifier: ISC */
/* filter/facts: what is known of a filter after reading all of it. */
#ifndef CLI_FILTER_FACTS_H
#define CLI_FILTER_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "kv_pkbf.h"

struct filter_facts {
	const char *path; /* the caller's */
	struct kv_pkbf_header header;
	uint64_t bits, set;
	double share;	/* of bits that are set */
	double entries; /* estimated from set; infinite if all are set */
};

/* Reads all of an open filter. False after a message. */
bool filter_facts_read(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts);
/* As filter_facts_read, for the file at path. */
bool filter_facts_learn(const char *path, struct filter_facts *facts);

/*
 * The share of clean keys that the filter calls listed: by the number of
 * entries in its header, and by the bits that are set.
 */
double filter_facts_rate_by_header(const struct filter_facts *f);
double filter_facts_rate_by_bits(const struct filter_facts *f);

/* Formats a header's time in ISO 8601. False if it has no such form. */
bool filter_facts_format_time(uint64_t when, char *text, size_t cap);

/* False, with a reason in why, if header and bits contradict each other. */
bool filter_facts_are_consistent(const struct filter_facts *f, char *why,
    size_t cap);

#endif
