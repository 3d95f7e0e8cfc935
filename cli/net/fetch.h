/* SPDX-License-Identifier: ISC */
/*
 * net/fetch: fetches a file over HTTPS, or reads it from this machine, piece
 * by piece. Only HTTPS is used, also after a redirect, and the server's
 * certificate must be valid. The total time and the server's silence are
 * limited. The size is not: that is left to the data callback.
 */
#ifndef CLI_NET_FETCH_H
#define CLI_NET_FETCH_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/progress.h"
#include "net/http_header.h"

/* Where a file is. The strings belong to the struct. */
struct fetch_place {
	char *where; /* a URL of HTTPS, or the path of a file of this machine */
	bool is_url;
	char *shown; /* for messages: without user, password and query */
};

/*
 * Parses https://..., file:///... or a path, and appends suffix to the name of
 * that file. False after a message. Always call fetch_place_free, even after a
 * failure.
 */
bool fetch_place_parse(const char *text, const char *suffix,
    struct fetch_place *p);
void fetch_place_free(struct fetch_place *p);

struct fetch_limits {
	const char *ca_file;	/* NULL: the system's */
	const char *proxy;	/* NULL: as the environment says; "": none */
	uint64_t timeout;	/* seconds in all */
	uint64_t stall_timeout; /* seconds in a row below 1000 bytes/s */
	bool (*stopped)(void);	/* called about once a second; true: stop */
};

struct fetch {
	const struct fetch_place *place;
	const struct fetch_limits *limits;
	/* ETag and date of what is there; "": none. Not for a path. */
	const char *if_none_match;
	const char *if_modified_since;
	/* To resume from an offset, if the file still has this ETag. */
	const char *if_range;
	off_t from;
	/*
	 * begin is called once, before any data, with the offset of the data: 0
	 * or from; it may be NULL. If either returns false, after a message of
	 * its own, the fetch ends.
	 */
	bool (*begin)(const struct fetch *f, off_t at, void *arg);
	bool (*data)(const void *p, size_t len, void *arg);
	void *arg;
	struct progress *progress; /* erased before a message */
	/* Set before begin is called, and for FETCH_NOT_MODIFIED; "": none. */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
};

enum fetch_end {
	FETCH_FAILED, /* after a message */
	FETCH_DONE,
	FETCH_NOT_MODIFIED,
	FETCH_NO_RANGE, /* cannot resume: fetch all of it */
};

enum fetch_end fetch_run(struct fetch *f);

#endif
