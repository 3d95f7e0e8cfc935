/* SPDX-License-Identifier: ISC */
/*
 * net/network: the front's side of wire/network.h: starts keyveto-network when
 * it is needed first, and has it speak to servers. It may say anything.
 */
#ifndef CLI_NET_NETWORK_H
#define CLI_NET_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "net/http_header.h"
#include "wall/wall.h"
#include "wire/network.h"

#define NETWORK_WHY_BYTES 512

/* --- the program -------------------------------------------------------- */

/*
 * Starts the program. NETWORK_HELLO is what it says first. False with a
 * sentence.
 */
bool network_start(struct wall_process *program,
    char why[static WALL_WHY_BYTES]);
/* Sends an order, finished, with a descriptor unless fd is -1, and frees it. */
bool network_send(const struct wall_process *program, struct record_out *o,
    int fd);
/*
 * Takes NETWORK_HELLO, and warns of each wall that does not stand, unless quiet
 * or it did so before. False if it is none.
 */
bool network_receive_hello(struct kv_bytes b, bool quiet);

/* --- requests, all of one program --------------------------------------- */

/*
 * The rules of every connection that keyveto makes over HTTPS, which
 * keyveto-network keeps: only HTTPS is spoken, also after a redirect, by TLS 1.2
 * or later, and the server's certificate must be valid. The total time and the
 * server's silence are limited.
 */
struct https_limits {
	const char *ca_file;	/* NULL: the system's */
	const char *proxy;	/* NULL: as the environment says; "": none */
	uint64_t timeout;	/* seconds in all */
	uint64_t stall_timeout; /* seconds in a row below 1000 bytes/s */
	bool (*stopped)(void);	/* called about once a second; true: stop */
};

/* What is used of a server's answer. A header that it lacks is "". */
struct network_head {
	long status;
	uint64_t retry_after; /* seconds; 0 without it */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
	char encoding[HTTP_VALUE_BYTES];
	char type[HTTP_VALUE_BYTES];
};

struct network_request {
	const char *url;
	const struct https_limits *limits;
	unsigned int redirects; /* so many are followed */
	bool keep;		/* the connection, for the next request */
	bool head_only;		/* HEAD: no body comes */
	const char *const *header;
	size_t n_headers;
	/*
	 * head is called once, before the body. That is written at the offset of
	 * into, and this process does not read it. begin is called before that,
	 * unless it is NULL, and arrived when len more bytes are in it; with 0
	 * and errno if they cannot be. False of either ends the request with
	 * NETWORK_STOPPED.
	 */
	void (*head)(const struct network_head *head, void *arg);
	bool (*begin)(void *arg);
	bool (*arrived)(size_t len, void *arg);
	int into;
	void *arg;
};

/*
 * Asks a server. NETWORK_DONE after its whole answer, whatever its status.
 * Otherwise why says what went wrong, perhaps in a server's words.
 */
enum network_cause network_get(const struct network_request *r,
    char why[static NETWORK_WHY_BYTES]);

/* What to do about it: "; try again later". */
const char *network_hint(enum network_cause cause);

/* A URL as libcurl reads it. The strings are the caller's, to be freed. */
struct network_place {
	enum network_place_kind kind;
	char *where, *shown; /* of NETWORK_HTTPS; shown has no secret part */
	char *scheme;	     /* of NETWORK_OTHER_SCHEME */
};

/*
 * Reads text as a URL, relative to base unless that is "", and appends suffix
 * to its path. With a base, a place on another host is one only with
 * other_hosts. False after a message.
 * The caller frees the strings in any case.
 */
bool network_find_place(const char *base, const char *text, const char *suffix,
    bool other_hosts, struct network_place *place);

/*
 * Ends the program, if it runs. The next request has another one: sources that
 * different people run should not share one.
 */
void network_stop(void);

#endif
