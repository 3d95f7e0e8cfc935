/* SPDX-License-Identifier: ISC */
/*
 * published/index_records: an index as one process tells it to another, in
 * parts: a head, and each file with its deltas. Who tells it may be in somebody
 * else's hands: what is taken is an index that index_parse could have taken.
 */
#ifndef CLI_PUBLISHED_INDEX_RECORDS_H
#define CLI_PUBLISHED_INDEX_RECORDS_H

#include "base/record.h"
#include "published/index.h"

/* These add a part to a record that was begun. */
void index_add_head(struct record_out *o, const struct index *x);
void index_add_file(struct record_out *o, const struct index_file *f);

/*
 * Sets x to the head, and *np to the number of its files, none of which it has
 * yet. False for what is no head. Always call index_free.
 */
bool index_get_head(struct kv_bytes b, struct index *x, size_t *np);

/*
 * Takes the next of the n files. False for what is none, or is one too many. Of
 * a file that was not taken, x has no part.
 */
bool index_get_file(struct kv_bytes b, struct index *x, size_t n);

#endif
