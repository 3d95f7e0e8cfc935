/* SPDX-License-Identifier: ISC */
/* output/report: findings as lines for people and as JSON for programs. */
#ifndef CLI_OUTPUT_REPORT_H
#define CLI_OUTPUT_REPORT_H

#include "command.h"
#include "keys/input.h"

struct report {
	const struct kv_judge *judge;
	bool json;
	bool all;	     /* clean keys too */
	bool quiet;	     /* nothing but errors */
	bool servers;	     /* what is counted as a file is a server */
	FILE *out, *err;     /* findings; messages */
	const char *account; /* audit: whose file it is; NULL elsewhere */
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

/* So many more keys were judged, and are clean; not for r->all. */
void report_clean(struct report *r, uint64_t keys);

/* "keyveto: PATH:LINE: reason" on r->err, and JSON if asked for. */
void report_problem(struct report *r, const struct input_problem *problem);

/* Adds the totals of another report to r's. */
void report_add(struct report *r, const struct report *other);

/* The totals, in a line on r->err. */
void report_summary(const struct report *r);

/* The exit status that the totals make. */
int report_status(const struct report *r);

#endif
