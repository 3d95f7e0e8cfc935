/* SPDX-License-Identifier: ISC */
/*
 * update/follow: the index of a published folder, and what may be believed of
 * it: a good signature by AllowedSigners, no older one than was seen before, and
 * not expired. Nothing else of it is read before its signature was verified.
 */
#ifndef CLI_UPDATE_FOLLOW_H
#define CLI_UPDATE_FOLLOW_H

#include "net/fetch.h"
#include "published/index.h"
#include "upkeep/notes.h"

struct update;

/* The zero value is failure. */
enum update_follow_end {
	UPDATE_FOLLOW_FAILED = 0, /* after a message */
	UPDATE_FOLLOW_SAME,	  /* the index has not changed */
	UPDATE_FOLLOW_CURRENT,	  /* what is installed is the index's file */
	UPDATE_FOLLOW_UNWANTED,	  /* the index's file was rolled back */
	UPDATE_FOLLOW_NEWER,	  /* the index has another file */
};

#define UPDATE_FOLLOW_COST_BYTES 80
/* A file that the index names is not there: for struct fetch. */
#define UPDATE_FOLLOW_IF_MISSING \
	"; the folder may have changed meanwhile: run this again, and " \
	"if it stays so, ask its publisher"

struct update_follow {
	struct index index;
	const struct index_file *file; /* in the index; NULL: SAME, or failed */
	char etag[HTTP_VALUE_BYTES], last_modified[HTTP_VALUE_BYTES];
	char installed[UPDATE_DIGEST_CHARS]; /* its SHA-256; "": none is good */
	uint64_t received;		     /* bytes so far, of all files */
};

/* --- update/follow.c ---------------------------------------------------- */

/*
 * Fetches the index, and compares its file with what is installed, whose
 * SHA-256 is sha256, or NULL if it is not known yet. With conditional, an index
 * that has not changed is not fetched again.
 */
enum update_follow_end update_follow_find(struct update *u, const char *sha256,
    bool conditional);

/* Notes that the file with this stat is the index's, which is installed. */
void update_follow_note(struct update *u, const struct stat *st);

/* The largest file that MaxSize allows. */
uint64_t update_follow_max_bytes(const struct update *u);

void update_follow_free(struct update_follow *f);

/* "; fetched 20146 bytes instead of 33554456", or less, or "". */
const char *update_follow_cost(const struct update *u,
    char text[static UPDATE_FOLLOW_COST_BYTES]);

/* --- update/deliver.c --------------------------------------------------- */

/*
 * Receives the index's file into u->part by the cheapest way: the deltas from
 * what is installed, or else all of it. If deltas do not fit, that is no matter
 * for a message. False after a message. Sets u->keep_part.
 */
bool update_deliver(struct update *u);

/* Removes what an earlier run left of a packed file: the newest is installed. */
void update_deliver_clean(const struct update *u);

/*
 * Fetches a companion of the index's file, of at most max bytes, into a file
 * that the caller closes. -1 after a message.
 */
int update_deliver_companion(struct update *u, const struct index_companion *c,
    size_t max);

#endif
