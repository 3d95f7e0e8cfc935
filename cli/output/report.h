/* SPDX-License-Identifier: ISC */
/* output/report: prints findings as text or as JSON, and counts them. */
#ifndef CLI_OUTPUT_REPORT_H
#define CLI_OUTPUT_REPORT_H

#include "command.h"
#include "keys/input.h"

struct report {
	const struct kv_judge *judge;
	bool json;
	bool all;	     /* print clean and allowed keys too */
	bool quiet;	     /* print only errors */
	bool servers;	     /* files counts servers (scan) */
	FILE *out, *err;     /* findings; messages */
	const char *account; /* audit: the file is of it; else NULL */
	int64_t now;
	/* Totals so far. */
	uint64_t files, keys, listed, allowed, clean, unsupported, problems;
};

/*
 * Judges a key and prints what is asked for:
 *   PATH:LINE: listed: TYPE BITS SHA256:... COMMENT [FILTER]
 * or one JSON object a line: file line verdict type bits fingerprint
 * spki_sha256 part comment filters reason.
 */
void report_key(struct report *r, const struct input_key *key);

/* Counts keys that are clean, but prints none: not for r->all. */
void report_clean(struct report *r, uint64_t keys);

/*
 * Counts a problem, and prints "keyveto: PATH:LINE: reason" on r->err. With
 * r->json also prints an object.
 */
void report_problem(struct report *r, const struct input_problem *problem);

/* Adds the totals of another report to r's. */
void report_add(struct report *r, const struct report *other);

/* Prints the totals, in one line on r->err. */
void report_summary(const struct report *r);

/* The exit status for the totals: an enum cli_status. */
int report_status(const struct report *r);

#endif
