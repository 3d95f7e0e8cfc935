/* SPDX-License-Identifier: ISC */
/*
 * published/unpack: unpacks a file that was fetched, xz or not. keyveto-worker
 * does, and tells what came of it.
 */
#ifndef CLI_PUBLISHED_UNPACK_H
#define CLI_PUBLISHED_UNPACK_H

#include "published/records.h"

/* The zero value is failure. */
enum unpack_end {
	UNPACK_DAMAGED = 0, /* why is a sentence */
	UNPACK_DONE,
	UNPACK_TOO_LARGE,
	UNPACK_NO_LIST,	    /* why is a reason */
	UNPACK_NOT_READ,    /* error is of the packed file */
	UNPACK_NOT_WRITTEN, /* error is of the other one */
};
#define UNPACK_END_MAX UNPACK_NOT_WRITTEN
#define UNPACK_WHY_BYTES UPDATE_RECORDS_WHY_BYTES

struct unpacked {
	enum unpack_end end;
	int error; /* an errno, or 0 */
	char why[UNPACK_WHY_BYTES];
};

/*
 * Unpacks the file that packed holds, from offset 0, into out, at most max
 * bytes. With is_list, it ends at what cannot be on an exact list.
 */
void unpack_file(int packed, int out, uint64_t max, bool is_list,
    struct unpacked *u);

/* Adds what came of it to a record that was begun. */
void unpack_put(struct record_out *o, const struct unpacked *u);
/* Takes it, as a stranger may tell it. False for what none of ours tells. */
KV_MUST_CHECK bool unpack_get(struct kv_bytes b, struct unpacked *u);

#endif
