/* SPDX-License-Identifier: ISC */
/*
 * sets/additions: the keys that are to be added to a filter, which may be
 * larger than memory.
 *
 * The bits of a key lie all over the filter. To set them key by key in a filter
 * that does not fit in memory takes a read and a write of the disk for each bit.
 * So the keys' hashes are kept until all are known: a batch in memory, the other
 * batches in a file without a name beside the filter, 17 bytes a key. Then the
 * filter goes through a window of 64 MiB from its start to its end. In each
 * window the bits of all keys that lie there are set, in the order of the
 * keys.
 *
 * A key is new if it sets a bit that neither the filter nor a key before it has
 * set. In each window the keys come in order, so a key is new in one of the
 * windows exactly if it is new when keys are added one by one, as the reference
 * implementation does.
 *
 * The cost is one look at each bit of each key a window: some 30 ns a key with
 * 20 bits, for each 64 MiB of the filter.
 */
#ifndef CLI_SETS_ADDITIONS_H
#define CLI_SETS_ADDITIONS_H

#include "sets/pkbf_writer.h"

/* So many keys are in a batch. */
#define ADDITIONS_BATCH 16384

struct additions_batch {
	struct kv_pkbf_hash hash[ADDITIONS_BATCH];
	/* Has set a bit that was not set before. */
	bool is_new[ADDITIONS_BATCH];
};

/* A part of the filter in memory. Holes of the file cost nothing. */
struct additions_window {
	off_t file_bytes; /* the size of the file */
	off_t start;	  /* offset in the file; -1: nothing is loaded */
	size_t len;	  /* bytes of the file */
	uint8_t *bytes;
	bool *used; /* for each page: may have other bytes than zeros */
};

struct additions {
	struct pkbf_writer *writer;
	struct additions_window window;
	struct additions_batch *batch; /* the batch that is filled or used */
	size_t n;		       /* keys in it */
	int spill;	  /* the full batches; -1: there are none */
	uint64_t spilled; /* how many */
	uint64_t added;	  /* keys that are new so far */
};

/*
 * For the filter of writer, which pkbf_writer_load has loaded, and which must
 * stay open. Always call additions_close, even after a failure. These functions
 * print a message before they return false.
 */
bool additions_open(struct additions *a, struct pkbf_writer *writer);
void additions_close(struct additions *a);

/* Takes a key by its hash. */
bool additions_put(struct additions *a, const struct kv_pkbf_hash *h);

/*
 * Call once, after all keys were put. Adds them: sets their bits in the new
 * file, and counts each key that was new as an entry in the writer's header. If
 * none was new, no new file is begun. Sets *addedp to how many were new.
 */
bool additions_apply(struct additions *a, uint64_t *addedp);

#endif
