/* SPDX-License-Identifier: ISC */
/*
 * update/installed: the file that keyveto update replaces, and the one before
 * it, NAME.previous, which --rollback brings back.
 */
#ifndef CLI_UPDATE_INSTALLED_H
#define CLI_UPDATE_INSTALLED_H

#include "host/replace.h"

struct update_installed {
	const char *path;     /* the caller's */
	struct replace place; /* from replace_find: directory and names */
	int fd;		      /* -1: there is none yet */
	struct stat st;
	/* The caller sets these before update_installed_replace. */
	bool is_good;  /* it becomes NAME.previous */
	bool is_other; /* it was named by mistake, and is kept beside the new */
};

/*
 * Opens the file at path, if there is one. First ends what a killed run began.
 * False after a message. It refuses a directory to which another user may write:
 * that user could exchange a file after it was verified. Always call
 * update_installed_close, even after false.
 */
bool update_installed_open(struct update_installed *t, const char *path);
void update_installed_close(struct update_installed *t);

/*
 * Replaces the file by the one that is open as fd, of update/part, whose stat in
 * place *st becomes; the old filter becomes NAME.previous. fd stays the caller's.
 * False after a message. *donep tells whether the new file is in place, which it
 * may be even after false.
 */
bool update_installed_replace(const struct update_installed *t, int fd,
    struct stat *st, bool *donep);

/* Opens NAME.previous for reading. -1 after a message. */
int update_installed_open_previous(const struct update_installed *t);
/* Exchanges the two. Returns as update_installed_replace does. */
bool update_installed_exchange(const struct update_installed *t, bool *donep);

#endif
