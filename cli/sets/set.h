/* SPDX-License-Identifier: ISC */
/*
 * sets/set: a set of keys is a filter or an exact list. This opens a set, and
 * replaces one: what is the same for both.
 */
#ifndef CLI_SETS_SET_H
#define CLI_SETS_SET_H

#include "host/replace.h"
#include "sets/delta.h"

#define SET_WHY_BYTES 256

struct set_kind {
	const char *name;    /* "list"; so is its subcommand */
	const char *article; /* "an exact list" */
	enum change_kind change;
	enum delta_kind delta;
	/*
	 * Sets why to what makes an open file no such set; "" if it is one.
	 * False after a message.
	 */
	bool (*find_fault)(const char *path, int fd,
	    char why[static SET_WHY_BYTES]);
};

extern const struct set_kind set_filter, set_list;

/* Opens a set, or a delta, for reading. -1 after a message. */
int set_open(const char *path);

/*
 * Waits until no other keyveto writes the file, and opens the old file, if
 * there is one, as r->old. yes: what is committed may refuse keys that root or
 * an administrator needs. Always call replace_close, even after a failure.
 * These functions print a message before they return false.
 */
bool set_replace(struct replace *r, const struct set_kind *kind,
    const char *path, int yes);

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
