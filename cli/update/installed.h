/* SPDX-License-Identifier: ISC */
/*
 * update/installed: the filter that keyveto update replaces, and the one before
 * it, NAME.previous, which --rollback brings back.
 */
#ifndef CLI_UPDATE_INSTALLED_H
#define CLI_UPDATE_INSTALLED_H

#include "filter/facts.h"
#include "host/replace.h"

struct update_installed {
	const char *path;     /* the caller's */
	struct replace place; /* from replace_find: directory and names */
	int fd;		      /* -1: there is none yet */
	struct stat st;
	bool is_filter; /* a valid filter */
	bool is_other;	/* not even a damaged filter */
	struct kv_pkbf_header header;
};

/*
 * Opens the filter at path, if there is one. First ends what a killed run
 * began. False after a message. It refuses a directory to which another user
 * may write: that user could exchange a file after it was verified. It refuses
 * a file that never was a filter, unless force is set: then that file is kept
 * beside the new filter. Always call update_installed_close, even after false.
 */
bool update_installed_open(struct update_installed *t, const char *path,
    bool force);
void update_installed_close(struct update_installed *t);

/*
 * Replaces the filter by the file called name beside it, which is open as fd;
 * the old filter becomes NAME.previous. Owns fd from now on. False after a
 * message. *donep tells whether the new filter is in place, which it may be
 * even after false.
 */
bool update_installed_replace(const struct update_installed *t, int fd,
    const char *name, bool *donep);

/* Opens NAME.previous for reading. -1 after a message. */
int update_installed_open_previous(const struct update_installed *t);
/* Exchanges the two. Returns as update_installed_replace does. */
bool update_installed_exchange(const struct update_installed *t, bool *donep);

/*
 * Reads all of the filter that is open as fd. False after a message that says
 * why it must not be used; shown is its name in messages.
 */
bool update_installed_judge(const char *shown, int fd, double max_rate,
    struct filter_facts *facts);

#endif
