/* SPDX-License-Identifier: ISC */
/* sets/list_facts: what is known of an exact list after reading all of it. */
#ifndef CLI_SETS_LIST_FACTS_H
#define CLI_SETS_LIST_FACTS_H

#include "sets/list_reader.h"

#define LIST_SOURCES 256
#define LIST_DATE_BYTES sizeof("9999-12-31")

struct list_facts {
	const char *path; /* the caller's */
	uint64_t records, hashes;
	uint64_t from[LIST_SOURCES]; /* records of each source */
	bool dated;
	int64_t time; /* of the date in LIST.sources, in seconds since 1970 */
	char date[LIST_DATE_BYTES]; /* the same, YYYY-MM-DD */
};

/*
 * Reads all of an open list, and the date in the file behind sources (-1:
 * none). False, with a reason in why, if it is no list that a login can use: it
 * has no records, they are not in order, some of them were lost, or a look-up
 * misses one of them.
 */
bool list_facts_read(const char *path, int fd, int sources,
    struct list_facts *f, char why[static LIST_WHY_BYTES]);

#endif
