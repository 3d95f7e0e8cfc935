/* SPDX-License-Identifier: ISC */
/* publish/chain: the deltas that lead to the file that is published. */
#ifndef CLI_PUBLISH_CHAIN_H
#define CLI_PUBLISH_CHAIN_H

#include "publish/item.h"

#define CHAIN_NOTE_BYTES 512

/*
 * Makes the delta from the file that was published before to the item, applies
 * it, and puts it into the folder and into f->delta, which has room for
 * INDEX_DELTAS. f->packed_size is known already.
 *
 * Whether or not there is a delta, note is a part of a sentence about it. False
 * after a message, if the disk is at fault.
 */
bool chain_add(const struct folder *folder, const struct item *it,
    const struct index_file *before, struct index_file *f,
    char note[static CHAIN_NOTE_BYTES]);

/*
 * Leaves those deltas that lead to f from the last keep revisions, oldest first,
 * as long as all of them together are smaller than the packed file, and are in
 * the folder.
 */
void chain_trim(const struct folder *folder, struct index_file *f,
    uint64_t keep);

#endif
