/* SPDX-License-Identifier: ISC */
/*
 * net/fetch: fetches a file by the rules of net/network, or copies one of this
 * machine, piece by piece.
 */
#ifndef CLI_NET_FETCH_H
#define CLI_NET_FETCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/progress.h"
#include "net/http_header.h"
#include "net/network.h"

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
/*
 * Sets *p to the place that text, a URL or a path in the file at base, names. A
 * text without a scheme is relative to base. A file of this machine never leads
 * elsewhere, and a URL leads to another host only with other_hosts: then the
 * file of the same name beside base is meant. False after a message.
 */
bool fetch_place_resolve(const struct fetch_place *base, const char *text,
    bool other_hosts, struct fetch_place *p);

/* Tells if text is a URL, of any scheme. */
bool fetch_url_is_one(const char *text);

void fetch_place_free(struct fetch_place *p);

struct fetch {
	const struct fetch_place *place;
	const struct https_limits *limits;
	/* ETag and date of what is there; NULL or "": none. Not for a path. */
	const char *if_none_match;
	const char *if_modified_since;
	/*
	 * The file is written into this one, and this process does not read it.
	 * arrived is called when len more bytes are in it; with 0 and errno if
	 * they cannot be. If it returns false, after a message of its own, the
	 * fetch ends. NULL: it ends behind max bytes, or sets error to an errno;
	 * either is the caller's to say.
	 */
	int into;
	bool (*arrived)(size_t len, void *arg);
	void *arg;
	uint64_t max, len; /* len: bytes so far */
	int error;
	/* Nothing is written: of a URL, only what is there is asked. */
	bool head_only;
	struct progress *progress; /* erased before a message */
	bool shows; /* progress, from its start to its end; without arrived */
	bool quiet; /* a file that cannot be had is no matter for a message */
	/*
	 * Set before arrived is called, and for FETCH_NOT_MODIFIED; "": none,
	 * as always of a path.
	 */
	char etag[HTTP_VALUE_BYTES];
	char last_modified[HTTP_VALUE_BYTES];
};

enum fetch_end {
	FETCH_FAILED, /* after a message, unless quiet */
	FETCH_DONE,
	FETCH_NOT_MODIFIED,
};

enum fetch_end fetch_run(struct fetch *f);

#endif
