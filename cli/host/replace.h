/* SPDX-License-Identifier: ISC */
/*
 * host/replace: replaces a file in one step. Only one process at a time does
 * so.
 *
 * While the new file is written it has no name (O_TMPFILE), or the hidden name
 * .NAME.keyveto-new where the file system has no O_TMPFILE. replace_commit
 * flushes it to disk, names it in one step (rename, or link if there was no
 * file before), and flushes the directory. So a run that fails or is killed
 * leaves the old file as it was. The hidden name may remain; the next run
 * removes it.
 *
 * With keep_old, the old file becomes NAME.previous. It is first linked as
 * .NAME.keyveto-old, and renamed to NAME.previous only after the new file is in
 * place. So a replacement that fails does not lose the previous NAME.previous.
 * If a run is killed between the two, the next run that gets the lock does the
 * rename.
 *
 * The lock is on a file of its own, .NAME.lock, mode 0600: whoever can read a
 * file can lock it, and could so block the administrator. The holder removes
 * the lock file before it gives up the lock. A process that gets the lock
 * checks that the name still stands for the file that it locked, and starts
 * again if not. So a run that ends leaves nothing behind, and the lock file of
 * a killed run does no harm.
 */
#ifndef CLI_HOST_REPLACE_H
#define CLI_HOST_REPLACE_H

#include <sys/stat.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "host/change.h"

struct replace {
	const char *path; /* as given, for messages; the caller's */
	int dir;	  /* the file's, from host/place */
	struct stat dir_st;
	char name[NAME_MAX + 1];
	char lock_name[NAME_MAX + 1];
	char new_name[NAME_MAX + 1];
	char old_name[NAME_MAX + 1];
	char previous_name[NAME_MAX + 1];
	int lock;
	int old; /* the old file, read-only; -1: none */
	struct stat old_st;
	int fd;	      /* the new file; -1 before replace_begin */
	bool named;   /* it has the name new_name */
	bool is_done; /* the new file is in place, whatever failed after that */
	/* Options of replace_commit. Set them after replace_open. */
	bool keep_old;	  /* as previous_name */
	bool keep_beside; /* as kept_name, with a message */
	bool root_only;	  /* if run as root: only root may write it */
	bool readable;	  /* a new file has mode 0644, whatever the umask */
	/*
	 * Unless it is CHANGE_JUDGED, replace_commit asks whether the file may
	 * change (host/change), and sets readable if logins consult it. With
	 * CHANGE_NONE, an old file that does not begin as the new one is not
	 * replaced, unless it is empty or kept beside: it may be anything.
	 */
	enum change_kind change;
	const char *via, *sources; /* the command, and more of struct change */
	bool yes;		   /* --yes was given */
	char kept_name[NAME_MAX + 1]; /* NAME.kept, NAME.kept2...; "" before */
};

/*
 * Waits for the lock, cleans up after a killed run, then opens the old file, if
 * there is one, as r->old. If path is a symbolic link, the file that it points
 * to will be replaced; root follows only the links that host/place allows.
 *
 * Always call replace_close, even after a failure. Only one struct replace may
 * be open in a process. This and the functions below print a message before
 * they return false.
 */
bool replace_open(struct replace *r, const char *path);

/*
 * Only opens the file's directory, and sets r->name and the names that belong
 * to it. Takes no lock, so another struct replace may be open.
 */
bool replace_find(struct replace *r, const char *path);

/* Makes the new file, empty, as r->fd. */
bool replace_begin(struct replace *r);

/*
 * Call before replace_begin. Makes a file without a name in the directory of
 * the file, readable by its owner only, for what does not fit in memory. *fdp is
 * the caller's to close. Where the file system has no O_TMPFILE, it has the name
 * new_name for a moment.
 */
bool replace_make_scratch(struct replace *r, int *fdp);

/*
 * Writes text into the new file, and copies the extended attributes of the old
 * one, such as access control lists, where the file system allows it.
 */
bool replace_write_text(const struct replace *r, const char *text, size_t len);

/* The same with the first len bytes of a file, which it does not read. */
bool replace_write_file(const struct replace *r, int fd, size_t len);

/*
 * Instead of replace_begin: makes the file without a name in the same directory,
 * which is open as fd, the new file; or a copy of it, where the file system
 * cannot name it. If r->fd is fd then, replace_close closes it.
 */
bool replace_adopt(struct replace *r, int fd);

/*
 * After replace_begin, if another process had the new file: sees to it that no
 * process can write it from now on, this one neither. r->fd may be a copy then.
 */
bool replace_detach(struct replace *r);

/*
 * Replaces the old file by the new one. The new one gets the owner, group and
 * mode of the old one; without an old one it has mode 0644 less the umask, and
 * 0644 with readable.
 *
 * With root_only, and as root, the new file belongs to root. If root owned the
 * old one, it keeps the group and the mode, but group and others may not write.
 * Otherwise it is root:root with mode 0644. Such changes are printed.
 */
bool replace_commit(struct replace *r);

/*
 * Removes the new file if it was not committed, removes the lock file, and
 * closes all descriptors.
 */
void replace_close(struct replace *r);

#endif
