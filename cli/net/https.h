/* SPDX-License-Identifier: ISC */
/*
 * net/https: the rules of every connection that keyveto makes over HTTPS. Only
 * HTTPS is spoken, also after a redirect, by TLS 1.2 or later, and the server's
 * certificate must be valid. The total time and the server's silence are
 * limited.
 */
#ifndef CLI_NET_HTTPS_H
#define CLI_NET_HTTPS_H

#include <stdbool.h>
#include <stdint.h>

#include <curl/curl.h>

struct https_limits {
	const char *ca_file;	/* NULL: the system's */
	const char *proxy;	/* NULL: as the environment says; "": none */
	uint64_t timeout;	/* seconds in all */
	uint64_t stall_timeout; /* seconds in a row below 1000 bytes/s */
	bool (*stopped)(void);	/* called about once a second; true: stop */
};

/*
 * Sets up c for a request, of which at most redirects are followed. why, of
 * CURL_ERROR_SIZE bytes, gets libcurl's messages. limits and why must live as
 * long as c. False if libcurl does not know an option: none may be skipped.
 */
bool https_set_up(CURL *c, const struct https_limits *limits, long redirects,
    char why[static CURL_ERROR_SIZE]);

/* What went wrong in a request, for people; why is as for https_set_up. */
const char *https_reason(CURLcode code, const char *why);
/* What to do about it: "; try again later". */
const char *https_hint(CURLcode code);

#endif
