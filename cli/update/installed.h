/* SPDX-License-Identifier: ISC */
/*
 * update/installed: the filter that keyveto update replaces, and the one before
 * it, NAME.previous, which a rollback brings back.
 */
#ifndef CLI_UPDATE_INSTALLED_H
#define CLI_UPDATE_INSTALLED_H

#include "filter/facts.h"
#include "host/replace.h"

struct update_installed {
	const char *path;     /* the caller's */
	struct replace place; /* found only: directory and names */
	int fd;		      /* -1: there is none yet */
	struct stat st;
	bool is_filter; /* and not something damaged */
	bool is_other;	/* a file that never was a filter */
	struct kv_pkbf_header header;
};

/*
 * Finds out what there is, after what a killed run began was ended. False after
 * a message; to be closed in both cases.
 * A directory that somebody else may write is refused: what was verified there
 * could be exchanged. So is a file that never was a filter, unless force is
 * given: then it will be kept beside.
 */
bool update_installed_open(struct update_installed *t, const char *path,
    bool force);
void update_installed_close(struct update_installed *t);

/*
 * Puts the file that is open as fd and called name beside the filter in its
 * place, which becomes the previous one. Takes over fd. *donep tells if the
 * filter is the new one; it may be, also after false, which is after a message.
 */
bool update_installed_replace(const struct update_installed *t, int fd,
    const char *name, bool *donep);

/* Opens the previous one for reading. -1 after a message. */
int update_installed_open_previous(const struct update_installed *t);
/* Exchanges the two; *donep and the return value mean the same as above. */
bool update_installed_exchange(const struct update_installed *t, bool *donep);

/*
 * Reads all of a filter and judges it: false after a message that says why it
 * must not be used, where shown stands for its name.
 */
bool update_installed_judge(const char *shown, int fd, double max_rate,
    struct filter_facts *facts);

#endif
