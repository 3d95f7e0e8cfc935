/* SPDX-License-Identifier: ISC */
/*
 * update/fetch: a file over HTTPS or from this machine, piece by piece. Only
 * HTTPS, also after a redirect, with a server whose certificate is good; what
 * may not last, and how long a server may keep silent, is limited. How much may
 * come is for whoever takes the pieces to say.
 */
#ifndef CLI_UPDATE_FETCH_H
#define CLI_UPDATE_FETCH_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "update/http_header.h"

/* Where a file is; all strings are its own. */
struct fetch_place {
	char *url;   /* of HTTPS, or NULL */
	char *path;  /* of a file of this machine, or NULL */
	char *shown; /* for messages: without user, password and query */
};

/*
 * Reads https://..., file:///... or a path. False after a message. Freed by
 * fetch_place_free, also after false.
 */
bool fetch_place_parse(const char *text, struct fetch_place *p);
/* The file with ".sig" after its name. */
bool fetch_place_signature(const struct fetch_place *of, struct fetch_place *p);
void fetch_place_free(struct fetch_place *p);

struct fetch_limits {
	const char *ca_file;	/* NULL: the system's */
	const char *proxy;	/* NULL: as the environment says; "": none */
	uint64_t timeout;	/* seconds in all */
	uint64_t stall_timeout; /* seconds at less than 1000 bytes each */
	bool (*stopped)(void);	/* asked about once a second */
};

struct fetch {
	const struct fetch_place *place;
	const struct fetch_limits *limits;
	/* Of what is there already; "" for nothing. Not for a file. */
	const char *if_none_match;
	const char *if_modified_since;
	/* To go on from an offset, if it still is the file with that ETag. */
	const char *if_range;
	off_t from;
	/*
	 * Told once, before any data, where it begins: 0, or from. Both say
	 * what is wrong themselves before they return false, which ends it.
	 */
	bool (*begin)(const struct fetch *f, off_t at, void *arg);
	bool (*data)(const void *p, size_t len, void *arg);
	/* Before a message, such as to wipe a progress line; may be NULL. */
	void (*before_message)(void *arg);
	void *arg;
	/* Set before begin, and by FETCH_NOT_MODIFIED; "" without any. */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
};

enum fetch_end {
	FETCH_FAILED, /* after a message */
	FETCH_DONE,
	FETCH_NOT_MODIFIED,
	FETCH_NO_RANGE, /* cannot go on from there: fetch it whole */
};

enum fetch_end fetch_run(struct fetch *f);

#endif
