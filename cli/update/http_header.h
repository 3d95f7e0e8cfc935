/* SPDX-License-Identifier: ISC */
/*
 * update/http_header: what of an answer's headers counts here (RFC 9110).
 * Values come from a stranger, and go back to the server later.
 */
#ifndef CLI_UPDATE_HTTP_HEADER_H
#define CLI_UPDATE_HTTP_HEADER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

/* The longest value that is taken, with its NUL. */
#define HTTP_VALUE_BYTES 256

/*
 * Keeps the value of a header line, of len bytes, if it has this name; "" if
 * it is too long, or nothing that could be sent back.
 */
void http_header_keep(const char *line, size_t len, const char *name,
    char value[static HTTP_VALUE_BYTES]);

/* Whether text may stand in a header: printable ASCII that is not too long. */
bool http_value_is_safe(const char *text);
/* Whether equal ETags mean equal bytes. */
bool http_etag_is_strong(const char *etag);
/* Where a Content-Range says that its part begins; -1 if nowhere. */
off_t http_range_start(const char *content_range);

#endif
