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

/* What came of it in a record, on both sides. No errno is higher. */
#define UNPACKED_FIELDS(u) \
	R_NUMBER((u)->end, UNPACK_NOT_WRITTEN), R_NUMBER((u)->error, 4095), \
	    R_TEXT((u)->why)

#endif
