/* SPDX-License-Identifier: ISC */
/*
 * line_options: what the options of a line of authorized_keys take from
 * its key. A doubt is a no.
 */
#ifndef READER_LINE_OPTIONS_H
#define READER_LINE_OPTIONS_H

#include "kv_line.h"

/*
 * The options take nothing from the key at time now: it lets its account in to
 * a shell, and from everywhere.
 */
bool line_options_are_free(struct kv_span options, int64_t now);

/* expiry-time= is over at time now. */
bool line_options_have_expired(struct kv_span options, int64_t now);

#endif
