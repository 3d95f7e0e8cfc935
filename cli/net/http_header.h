/* SPDX-License-Identifier: ISC */
/*
 * net/http_header: the headers of an answer that matter here (RFC 9110). The
 * values are untrusted, and are sent back to the server later.
 */
#ifndef CLI_NET_HTTP_HEADER_H
#define CLI_NET_HTTP_HEADER_H

#include <stdbool.h>
#include <stddef.h>

/* The longest value that is kept, with its NUL. */
#define HTTP_VALUE_BYTES 256

/*
 * If line, of len bytes, is the header called name, sets value to its value; to
 * "" if it is too long, or not safe to send back.
 */
void http_header_keep(const char *line, size_t len, const char *name,
    char value[static HTTP_VALUE_BYTES]);

/* Whether text may be sent in a header: printable ASCII, and not too long. */
bool http_value_is_safe(const char *text);

#endif
