/* SPDX-License-Identifier: ISC */
/* sets/filter_facts: what is known of a filter after reading all of it. */
#ifndef CLI_SETS_FILTER_FACTS_H
#define CLI_SETS_FILTER_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "kv_pkbf.h"

/* A filter, open as fd; shown is its name in messages. */
struct filter_side {
	const char *shown;
	int fd;
};

struct filter_facts {
	const char *path; /* the caller's */
	struct kv_pkbf_header header;
	uint64_t bits, set;
	double share;	/* of bits that are set */
	double entries; /* estimated from set; infinite if all are set */
	/*
	 * The share of clean keys that the filter calls listed: the larger of
	 * the rates that its bits and its patterns cause (see facts.c). If
	 * these are equal, the real share can be twice as large.
	 */
	double rate_by_header; /* by the number of entries in its header */
	double rate_by_bits;   /* by the bits that are set */
};

/* Reads all of an open filter. False after a message. */
bool filter_facts_read(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts);

/*
 * Sets *setp to the number of bits that are set in f, a filter with 2^length
 * bits, and *lostp to how many of these new has not, if it is not NULL. False
 * after a message.
 */
bool filter_facts_count(const struct filter_side *f,
    const struct filter_side *new, uint8_t length, uint64_t *setp,
    uint64_t *lostp);

/* Sets facts to what follows from a header and the number of set bits. */
void filter_facts_set(const char *path, const struct kv_pkbf_header *h,
    uint64_t set, struct filter_facts *facts);

/* How many entries would set so many bits; infinite if all are set. */
double filter_facts_entries(const struct kv_pkbf_header *h, uint64_t set);

/* Formats a header's time in ISO 8601. False if it has no such form. */
bool filter_facts_format_time(uint64_t when, char *text, size_t cap);

/* False, with a reason in why, if header and bits contradict each other. */
bool filter_facts_are_consistent(const struct filter_facts *f, char *why,
    size_t cap);

/*
 * The smallest filter for n entries at a rate of false positives below rate, 0
 * < rate < 1, with both causes added up. False if it needs more than
 * 2^KV_PKBF_LENGTH_MAX bits.
 */
bool filter_facts_choose_size(uint64_t n, double rate, uint8_t *hashesp,
    uint8_t *lengthp);

#endif
