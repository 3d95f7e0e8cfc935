/* SPDX-License-Identifier: ISC */
/*
 * net/https: the rules of every connection that keyveto makes over HTTPS, which
 * keyveto-network keeps. Only HTTPS is spoken, also after a redirect, by TLS
 * 1.2 or later, and the server's certificate must be valid. The total time and
 * the server's silence are limited.
 */
#ifndef CLI_NET_HTTPS_H
#define CLI_NET_HTTPS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/network.h"

struct https_limits {
	const char *ca_file;	/* NULL: the system's */
	const char *proxy;	/* NULL: as the environment says; "": none */
	uint64_t timeout;	/* seconds in all */
	uint64_t stall_timeout; /* seconds in a row below 1000 bytes/s */
	bool (*stopped)(void);	/* called about once a second; true: stop */
};

/* What to do about it: "; try again later". */
const char *https_hint(enum network_cause cause);

#endif
