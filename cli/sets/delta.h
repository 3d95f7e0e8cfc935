/* SPDX-License-Identifier: ISC */
/*
 * sets/delta: what changed between two files, as a file of pkbf-delta(5). A
 * delta is of two filters, of which the new one has all bits of the old one, or
 * of two exact lists. It applies to exactly one file and gives exactly one.
 *
 * Whatever the files say, this takes 2 MiB of memory, and time in proportion to
 * their size. A delta's header bounds the size of the delta, so an adversary's
 * costs no more. Files are read in order with pread, and never mapped. The
 * buffers are static: only one thread may make or apply deltas.
 */
#ifndef CLI_SETS_DELTA_H
#define CLI_SETS_DELTA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"
#include "kv_pkbf.h"

#define DELTA_WHY_BYTES 256

enum delta_kind { DELTA_FILTER = 1, DELTA_LIST = 2 };

enum delta_end {
	DELTA_FAILED = 0, /* after a message: an input or output error */
	DELTA_DONE,
	DELTA_NO_SUCCESSOR, /* no message; why says why */
};

/* An open regular file, which is the caller's. Its offset does not matter. */
struct delta_file {
	const char *shown; /* its name for messages */
	int fd;
};

struct delta_header {
	enum delta_kind kind;
	uint8_t old_sha256[SHA256_BYTES], new_sha256[SHA256_BYTES];
	uint64_t old_size, new_size;		      /* bytes */
	struct kv_pkbf_header old_header, new_header; /* of a filter */
	uint64_t gone; /* records that went; of a filter 0 */
	uint64_t came; /* records that came; of a filter bits that were set */
	uint64_t size; /* of the delta */
};

/*
 * Reads and checks the header of a delta, and whether its size is possible.
 * False after a message.
 */
bool delta_read_header(const struct delta_file *delta, struct delta_header *h);

/*
 * The same without a message for a file that is no delta: DELTA_NO_SUCCESSOR
 * with the reason in why.
 */
enum delta_end delta_find_header(const struct delta_file *delta,
    struct delta_header *h, char why[static DELTA_WHY_BYTES]);

/*
 * Writes the delta that makes fresh of old into out: a file that is empty, open
 * for reading and writing. DELTA_NO_SUCCESSOR, with a reason in why, if fresh is
 * no successor of old: another k or p, bits that are not set any more, a filter
 * and a list, a file that is neither. After anything but DELTA_DONE, out is to
 * be thrown away.
 *
 * Both files are taken for filters if old begins as one, else for lists.
 */
enum delta_end delta_make(const struct delta_file *old,
    const struct delta_file *fresh, const struct delta_file *out,
    char why[static DELTA_WHY_BYTES]);

/*
 * Writes the file that delta makes of old into out, as above. After DELTA_DONE
 * its bytes have the SHA-256 of the delta's header; they are not yet flushed to
 * disk. DELTA_NO_SUCCESSOR, with a reason in why, if delta is not of this old
 * file, is damaged, or is no delta.
 */
enum delta_end delta_apply(const struct delta_file *old,
    const struct delta_file *delta, const struct delta_file *out,
    char why[static DELTA_WHY_BYTES]);

#endif
