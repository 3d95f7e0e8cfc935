/* SPDX-License-Identifier: ISC */
/*
 * reading/facts: what the files of a judge are, as keyveto-reader has opened
 * them: the first thing that it says of a judge.
 */
#ifndef CLI_READING_FACTS_H
#define CLI_READING_FACTS_H

#include "base/record.h"
#include "kv_verdict.h"

/* When a list was made, by the file of its sources. */
struct facts_date {
	bool known;
	int64_t seconds; /* since 1970 */
};

/* Sends READING_FACTS. The judge's files are open here. */
void facts_send(struct record_out *o, const struct kv_judge *judge);

/*
 * Sets, in a judge whose files the reader has, broken, and of each filter and
 * list what lookups need: its header, the number of its records; or its
 * descriptor to -1, and why. date has room for one of each list. False if
 * facts_send writes no such payload of so many filters and lists.
 */
KV_MUST_CHECK bool facts_receive(struct kv_bytes payload,
    struct kv_judge *judge, struct facts_date *date);

#endif
