/* SPDX-License-Identifier: ISC */
/*
 * net/ask: asks a server questions with short answers, by the rules of
 * net/https, over one connection. A redirect is an answer, and is not followed:
 * no other server is told what was asked.
 */
#ifndef CLI_NET_ASK_H
#define CLI_NET_ASK_H

#include <stddef.h>

#include "net/http_header.h"
#include "net/https.h"

#define ASK_WHY_BYTES 512

struct ask {
	/* The last answer. */
	long status;
	char type[HTTP_VALUE_BYTES]; /* Content-Type, "" without one */
	uint64_t retry_after; /* seconds, of Retry-After; 0 without one */
	int body;	      /* a file in memory, for others to read */
	size_t len;
	char why[ASK_WHY_BYTES]; /* why there is none */
	/* Internal. */
	const struct https_limits *limits;
	size_t max;
	char accept[HTTP_VALUE_BYTES];
};

/*
 * Sets up questions that accept this media type, and answers of at most max
 * bytes. limits must live until ask_close. False after a message. Always call
 * ask_close.
 */
bool ask_open(struct ask *a, const struct https_limits *limits,
    const char *accept, size_t max);

/*
 * Asks for url. False with a->why if there is no whole answer of that length,
 * whatever its status.
 */
bool ask_get(struct ask *a, const char *url);

void ask_close(struct ask *a);

#endif
