/* SPDX-License-Identifier: ISC */
/* filter: what the subcommands of keyveto filter share. */
#ifndef CLI_FILTER_FILTER_H
#define CLI_FILTER_FILTER_H

#include <getopt.h>

#include "command.h"
#include "keys/input.h"
#include "kv_trusted.h"

/* A time past the year 9999 is nothing that ISO 8601 has a form for. */
#define FILTER_TIME_MAX 253402300799U

/* Their names hold both words ("filter add"), for usage and --help. */
extern const struct cli_command filter_create, filter_add, filter_merge,
    filter_info, filter_verify, filter_explain;

/* Opens a filter file and validates it; false after a message. */
bool filter_open(const char *path, struct kv_pkbf *f);
/* The same for an open descriptor, which stays the caller's on false. */
bool filter_adopt(const char *path, int fd, struct kv_pkbf *f);

/* What a login would hold against the file; "" if nothing. */
void filter_find_distrust(const char *path,
    char why[static KV_TRUSTED_WHY_BYTES]);
/* A message about that, if this is root: anybody else has other filters. */
void filter_warn_if_distrusted(const char *path);

/* Reads exactly len bytes; false after a message. */
bool filter_read_at(const char *path, int fd, void *buf, size_t len, off_t at);

/*
 * Whether there is nothing but a hole in these bytes of a file, so that they
 * need not be read. False if that cannot be told.
 */
bool filter_is_hole(int fd, off_t at, size_t len);

/*
 * The time that a filter written now gets: SOURCE_DATE_EPOCH, if that is set.
 * False after a message, if it is no number of seconds.
 */
bool filter_now(uint64_t *timep);

/* filter/rate.c: sizes and rates. */

/*
 * The share of clean keys that a filter of n entries calls listed: the larger
 * of what its bits and what its patterns let expect. Where both are of one size
 * it can be twice that.
 */
double filter_rate(uint8_t hashes, uint8_t length, double n);
/* The same of a filter in which this share of the bits is set. */
double filter_rate_by_share(uint8_t hashes, uint8_t length, double share);
/* The number of entries at which so many of the bits would be set. */
double filter_entries(uint8_t hashes, uint8_t length, double share);
/*
 * The smallest filter for n entries at a rate of false positives below rate,
 * 0 < rate < 1, with all that filter_rate leaves out. False if it would need
 * more than 2^KV_PKBF_LENGTH_MAX bits.
 */
bool filter_parameters(uint64_t n, double rate, uint8_t *hashesp,
    uint8_t *lengthp);

/* filter/input.c: the SPKIs in an input. */

/*
 * Like input_read, of raw SPKIs: one or more of them in DER, end to end, in a
 * file or on standard input ("-"). Each becomes a key of which nothing but the
 * SPKI is known.
 */
void filter_read_spki(const char *path, const struct input_sink *sink);

/*
 * Calls f for each SPKI of a key, until it returns false; with compressed also
 * for that with the compressed point, of a key that has one. False if f did.
 */
bool filter_each_spki(const struct input_key *key, bool compressed,
    bool (*f)(struct kv_span spki, void *arg), void *arg);

/* "keyveto: PATH:LINE: reason" on standard error. */
void filter_print_problem(const struct input_problem *problem);

#endif
