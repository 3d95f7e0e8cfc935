/* SPDX-License-Identifier: ISC */
/* sets/filter_file: opens filters, and says what is wrong with one. */
#ifndef CLI_SETS_FILTER_FILE_H
#define CLI_SETS_FILTER_FILE_H

#include <sys/types.h>

#include "kv_pkbf.h"

/* The last second of the year 9999: ISO 8601 has no form for later ones. */
#define FILTER_TIME_MAX 253402300799U

/*
 * Makes a filter of an open file, and checks its header and size. Closed by
 * kv_pkbf_close. False after a message: the caller closes fd.
 */
bool filter_adopt(const char *path, int fd, struct kv_pkbf *f);

/*
 * Whether these len bytes of a file are a hole, and need not be read. False if
 * the file system cannot tell.
 */
bool filter_is_hole(int fd, off_t at, size_t len);

/*
 * The time for a filter that is written now: SOURCE_DATE_EPOCH if set, else the
 * clock. False after a message if SOURCE_DATE_EPOCH is not a number of seconds.
 */
bool filter_now(uint64_t *timep);

#endif
