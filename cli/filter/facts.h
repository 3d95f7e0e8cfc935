/* SPDX-License-Identifier: ISC */
/* filter/facts: all there is to know of a filter, by reading all of it. */
#ifndef CLI_FILTER_FACTS_H
#define CLI_FILTER_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "kv_pkbf.h"

struct filter_facts {
	const char *path; /* the caller's */
	struct kv_pkbf_header header;
	uint64_t bits, set;
	double share;	/* of bits set */
	double entries; /* by the bits; infinite if all are set */
};

/* Reads a filter that was opened and validated; false after a message. */
bool filter_facts_read(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts);
/* Opens the file, too. */
bool filter_facts_learn(const char *path, struct filter_facts *facts);

/* The share of clean keys that it calls listed. */
double filter_facts_rate_by_header(const struct filter_facts *f);
double filter_facts_rate_by_bits(const struct filter_facts *f);

/* The time of a header in ISO 8601; false for one that has no such form. */
bool filter_facts_format_time(uint64_t when, char *text, size_t cap);

/* False, with a sentence in why, where header and bits contradict each other. */
bool filter_facts_are_consistent(const struct filter_facts *f, char *why,
    size_t cap);

#endif
