/* SPDX-License-Identifier: ISC */
/* scan/host: asks one server for all its host keys, in a child process. */
#ifndef CLI_SCAN_HOST_H
#define CLI_SCAN_HOST_H

#include "host/child.h"

#define SCAN_HOST_BYTES 256 /* DNS allows 253 */

struct scan_target {
	char host[SCAN_HOST_BYTES];
	char port[6];
	/* HOST:PORT or [ADDRESS]:PORT, as printed */
	char name[SCAN_HOST_BYTES + sizeof("[]:65535")];
};

/* The child's records. Each has one string. */
enum scan_tag {
	SCAN_PHASE = 1, /* what it does next */
	SCAN_KEY,	/* a key that the server proved to own, base64 */
	SCAN_PROBLEM,	/* what failed, and why; untrusted */
	SCAN_UNKNOWN,	/* an unknown algorithm; untrusted */
};

struct scan_job {
	struct scan_target target;
	unsigned int timeout; /* seconds for each connection */
};

/*
 * The work for child_start, with a struct scan_job. If a phase takes longer
 * than the timeout, the child ends by SIGALRM: the last SCAN_PHASE says what it
 * was.
 */
void scan_host(struct record_out *out, void *job);

#endif
