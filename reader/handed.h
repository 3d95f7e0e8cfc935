/* SPDX-License-Identifier: ISC */
/*
 * handed: a judge whose files the front has opened. The reader opens nothing:
 * each file of the judge is answered with what the front was given for it.
 */
#ifndef READER_HANDED_H
#define READER_HANDED_H

#include "kv_verdict.h"
#include "wall/orders.h"

/* What READING_SETUP says. */
struct setup {
	uint64_t flags, total;
	const char *config; /* NULL: the defaults */
	const char *filter[KV_CONFIG_MAX_FILTERS];
	const char *blocklist[KV_CONFIG_MAX_BLOCKLISTS];
	struct kv_paths paths; /* named by options; empty: of the config */
};

/*
 * Takes READING_SETUP. False if it is not as the front sends it. The strings
 * live as long as the process.
 */
bool handed_setup(struct orders *o, struct setup *setup);

/* Takes the orders up to READING_JUDGE, and opens the judge. The same. */
bool handed_judge(struct orders *o, struct setup *setup, struct kv_judge *j);

#endif
