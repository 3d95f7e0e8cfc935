/* SPDX-License-Identifier: ISC */
/* update/text: small files of others, each in a file without a name. */
#ifndef CLI_UPDATE_TEXT_H
#define CLI_UPDATE_TEXT_H

#include "net/fetch.h"

/* Makes an empty one. -1 after a message about shown. */
int update_text_make(const char *shown);

/*
 * As fetch_run, all of a file of at most max bytes, which this process does not
 * read. f->into, arrived and arg are its own; too_long is the message about a
 * longer one. *fdp is the caller's to close, and -1 but for FETCH_DONE. *lenp
 * is how much was received in any case.
 */
enum fetch_end update_text_fetch(struct fetch *f, size_t max,
    const char *too_long, int *fdp, uint64_t *lenp);

/* The same of a place, without conditions. -1 after a message. */
int update_text_get(const struct fetch_place *place,
    const struct https_limits *limits, struct progress *progress, size_t max,
    const char *too_long);

#endif
