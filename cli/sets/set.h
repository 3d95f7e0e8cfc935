/* SPDX-License-Identifier: ISC */
/*
 * sets/set: a set of keys is a filter or an exact list. This opens a set, and
 * replaces one: what is the same for both.
 */
#ifndef CLI_SETS_SET_H
#define CLI_SETS_SET_H

#include "host/replace.h"
#include "kv_pkbf.h"
#include "sets/list_reader.h"

#define SET_WHY_BYTES 256

struct set;

struct set_kind {
	const char *name;    /* "list"; so is its subcommand */
	const char *article; /* "an exact list" */
	enum change_kind change;
	/* Begins to read s->fd, by s->filter or s->reader. False after a message. */
	bool (*adopt)(struct set *s);
	/*
	 * Sets why to what makes an open file no such set; "" if it is one.
	 * False after a message.
	 */
	bool (*find_fault)(const char *path, int fd,
	    char why[static SET_WHY_BYTES]);
};

extern const struct set_kind set_filter, set_list;

/* A set that is open for reading. */
struct set {
	const char *path; /* the caller's */
	int fd;
	struct kv_pkbf filter;	   /* of a filter */
	struct list_reader reader; /* of a list */
	int sources; /* LIST.sources, if the caller opens it; -1: not open */
};

/* Opens a set. False after a message: call set_close even then. */
bool set_open(struct set *s, const struct set_kind *kind, const char *path);
void set_close(const struct set *s);

/*
 * Waits until no other keyveto writes the file, and opens the old file, if
 * there is one, as r->old. Always call replace_close, even after a failure.
 * These functions print a message before they return false.
 */
bool set_replace(struct replace *r, const struct set_kind *kind,
    const char *path);

/*
 * Call before replace_begin. Whether the old file may be replaced: a set of
 * this kind may, unless why says why not. With force, any file may; one that is
 * of another kind is kept beside the new one.
 */
bool set_may_replace(struct replace *r, const struct set_kind *kind, bool force,
    const char *why);

/*
 * Replaces the old file. As root, warns if a login would not trust the file
 * there.
 */
bool set_commit(struct replace *r);

#endif
