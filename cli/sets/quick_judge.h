/* SPDX-License-Identifier: ISC */
/*
 * sets/quick_judge: finds the clean keys among many lines, by looking them up
 * many at a time. It leaves a key that may be listed to kv_verdict.
 */
#ifndef CLI_SETS_QUICK_JUDGE_H
#define CLI_SETS_QUICK_JUDGE_H

#include "keys/quick.h"
#include "kv_verdict.h"
#include "sets/list_index.h"
#include "sets/pkbf_map.h"

/* A judge's filters, mapped, and its lists. Threads may share it. */
struct quick {
	struct kv_judge *judge;
	struct pkbf_map map[KV_CONFIG_MAX_FILTERS];
	size_t n_maps;
	struct list_index *list;
	size_t n_lists;
};

/*
 * False without a message if the judge has neither filters nor lists, has
 * DenyKey lines or is broken, or if a filter cannot be mapped: use kv_judge_pubkey then. After
 * true, call quick_close. Until then, the judge must stay open, and looks up in
 * the maps, too.
 */
bool quick_open(struct quick *q, struct kv_judge *j);
void quick_close(struct quick *q);

/*
 * As quick_hash with QUICK_ECDSA, but a line is done only if its key is clean.
 * *cleanp is the number of these.
 */
size_t quick_judge(struct quick *q, struct kv_span text,
    struct quick_line line[static QUICK_LINES], size_t *cleanp);

#endif
