/* SPDX-License-Identifier: ISC */
/* scan/host: asks one server for all its host keys, in a process of its own. */
#ifndef CLI_SCAN_HOST_H
#define CLI_SCAN_HOST_H

#include "host/child.h"
#include "scan/target.h"

/* What the child tells, each with one string. */
enum scan_tag {
	SCAN_PHASE = 1, /* what it is about to do */
	SCAN_KEY,	/* a key the server has proved to own, base64 */
	SCAN_PROBLEM,	/* what it could not do, and why; untrusted */
	SCAN_UNKNOWN,	/* an algorithm nobody here knows; untrusted */
};

struct scan_job {
	const struct scan_target *target;
	unsigned int timeout; /* seconds for each connection */
};

/*
 * For child_start, with a struct scan_job. Whatever takes longer than the
 * timeout ends the child by SIGALRM: the last phase tells what it was.
 */
void scan_host(struct record_out *out, void *job);

#endif
