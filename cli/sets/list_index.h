/* SPDX-License-Identifier: ISC */
/*
 * sets/list_index: many look-ups in an exact list, which stays open.
 *
 * After the first few thousand keys, it reads the list once, and keeps a few
 * bits for each record. A key whose bits are not all set is not listed. Any
 * other one is looked up in the file, with one short read. So most keys cost one
 * memory access.
 * Threads may share it.
 */
#ifndef CLI_SETS_LIST_INDEX_H
#define CLI_SETS_LIST_INDEX_H

#include <pthread.h>
#include <stdatomic.h>

#include "kv_blocklist.h"

struct list_index {
	const struct kv_blocklist *list;
	pthread_mutex_t lock;	  /* held while the bits are made */
	_Atomic uint64_t asked;	  /* look-ups so far */
	_Atomic(uint64_t *) bits; /* NULL: not made */
	uint32_t *start;	  /* made before bits: see index.c */
	bool tried;		  /* to make them */
	unsigned int shift;	  /* from 64 bits of a hash to its word */
};

void list_index_open(struct list_index *x, const struct kv_blocklist *l);
void list_index_close(struct list_index *x);

/*
 * Sets listed[i] if h[i] is listed, or if the list gives no answer: then ask
 * kv_blocklist_lookup, which tells. Other elements are left as they are.
 */
void list_index_lookup(struct list_index *x, const struct kv_blocklist_hash *h,
    size_t n, bool *listed);

#endif
