/* SPDX-License-Identifier: ISC */
/*
 * confirm/api: asks a publisher of compromised keys, by the v1 API of
 * pwnedkeys.com, about one key at a time:
 *
 *   GET URL/ID     ID: the SHA-256 of the SPKI in lower-case hexadecimal
 *   200            the key is compromised; the body is a proof (proof/jws)
 *   404            the publisher does not have the key
 *
 * Both answers are JSON, and anything else is no answer: a portal or a proxy
 * also says 404, but in HTML.
 */
#ifndef CLI_CONFIRM_API_H
#define CLI_CONFIRM_API_H

#include <time.h>

#include "net/network.h"
#include "proof/jws.h"

/* The zero value says nothing about the key. */
enum api_verdict {
	API_NO_ANSWER = 0,
	API_CONFIRMED,
	API_NOT_CONFIRMED,
};

struct api {
	char *url;   /* without a slash at the end; may hold a password */
	char *shown; /* for messages: without that */
	/*
	 * No more questions: the server wants us to wait for long, or gave no
	 * answer several times in a row.
	 */
	bool given_up;
	char why[1024]; /* why there is no answer */
	/* The last answer. */
	long status;
	char type[HTTP_VALUE_BYTES]; /* Content-Type, "" without one */
	uint64_t retry_after; /* seconds, of Retry-After; 0 without one */
	int body;	      /* a file in memory, for others to read */
	size_t len;
	/* Internal. */
	struct https_limits limits;
	int64_t interval; /* between questions, in nanoseconds */
	struct timespec last;
	unsigned int failures; /* in a row */
};

/*
 * Asks at most rate questions a second. url must be of HTTPS, with neither query
 * nor fragment. False after a message. Always call api_close: a
 * struct that was never opened is all zeroes but for body, which is -1.
 */
bool api_open(struct api *a, const char *url, const struct https_limits *limits,
    uint64_t rate);

/*
 * Asks about the key with this SPKI and id. If the server says 429, or 503 with
 * Retry-After, waits and asks again; prints that. Of a confirmed key a->body
 * has the proof, verified, until the next call. Sets a->why for API_NO_ANSWER.
 */
enum api_verdict api_ask(struct api *a, const char *id, struct kv_span spki);

void api_close(struct api *a);

/*
 * Has keyveto-worker read the file from its start: whether it is a proof by the
 * key with this SPKI. Without an SPKI, whether it is a page of HTML or XML.
 */
void api_verify(int fd, struct kv_span spki, struct answer *answer);

/* "confirmed", "not confirmed", "no answer" */
const char *api_verdict_name(enum api_verdict verdict);

#endif
