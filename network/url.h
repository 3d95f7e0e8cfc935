/* SPDX-License-Identifier: ISC */
/* url: takes URLs apart, as libcurl does. */
#ifndef NETWORK_URL_H
#define NETWORK_URL_H

#include <stdbool.h>

#include "net/network.h"

/* Reads text as a URL, and appends suffix to its path. Free it by url_free. */
void url_parse(const char *text, const char *suffix, struct network_place *url);
/*
 * Reads text, which may be relative to the URL base, and leads to another host
 * only with other_hosts. On the same server it keeps the user and password of
 * base, unless it has its own.
 */
void url_resolve(const char *base, const char *text, bool other_hosts,
    struct network_place *url);
void url_free(struct network_place *url);

#endif
