/* SPDX-License-Identifier: ISC */
/* filter/filter: shared by the subcommands of keyveto filter. */
#ifndef CLI_FILTER_FILTER_H
#define CLI_FILTER_FILTER_H

#include <getopt.h>

#include "command.h"
#include "keys/input.h"
#include "kv_trusted.h"

/* The last second of the year 9999: ISO 8601 has no form for later ones. */
#define FILTER_TIME_MAX 253402300799U

/* Their names are two words ("filter add"), for usage and --help. */
extern const struct cli_command filter_create, filter_add, filter_merge,
    filter_diff, filter_patch, filter_info, filter_verify, filter_explain;

/*
 * Opens a filter file and checks its header and size. False after a message.
 * Closed by kv_pkbf_close.
 */
bool filter_open(const char *path, struct kv_pkbf *f);
/* As filter_open, for an open fd. After false, the caller closes it. */
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

/* filter/input.c: the SPKIs in an input. */

/*
 * As input_read, for raw SPKIs: one or more in DER, end to end, in a file or on
 * standard input ("-"). Each becomes a key with nothing but an SPKI.
 */
void filter_read_spki(const char *path, const struct input_sink *sink);

/*
 * Calls f for each SPKI of a key, until f returns false. With compressed, also
 * for the one with the compressed point, if the key has one. False if f
 * returned false, or after a message.
 */
bool filter_each_spki(const struct input_key *key, bool compressed,
    bool (*f)(struct kv_span spki, void *arg), void *arg);

#endif
