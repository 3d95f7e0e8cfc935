/* SPDX-License-Identifier: ISC */
/*
 * host/replace: a new file that takes the place of an old one in one step,
 * written by one process at a time.
 *
 * The new file has no name while it is written (O_TMPFILE), or the hidden name
 * .NAME.keyveto-new where the file system cannot do that. It is flushed to
 * disk, gets the name in one step (rename, or link when there was no file
 * before), and then the directory is flushed. So a run that fails or is killed
 * leaves the old file as it was; at worst the hidden name stays, and the next
 * run removes it.
 *
 * Who asks for it finds the old file as NAME.previous then. It gets a second
 * name before it loses its own, .NAME.keyveto-old, and that becomes the
 * previous one only after the new file is sure to be there. So what was the
 * previous one is not lost for a replacement that did not happen; and where a
 * run was killed after it happened, the next one that takes the lock ends it.
 *
 * Writers take turns by a lock on .NAME.lock, mode 0600. It is not on the file
 * itself: whoever may read a file may lock it, and could keep the
 * administrator out. The lock file is removed by the one who holds the lock,
 * before it is given up; whoever gets the lock checks that the name still
 * stands for what was locked, and else starts again. So nothing is left behind
 * by a run that ends, and what a killed one leaves does no harm.
 */
#ifndef CLI_HOST_REPLACE_H
#define CLI_HOST_REPLACE_H

#include <sys/stat.h>

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct replace {
	const char *path; /* as given, for messages; the caller's */
	int dir;	  /* of the file itself, as host/place finds it */
	struct stat dir_st;
	char name[NAME_MAX + 1];
	char lock_name[NAME_MAX + 1];
	char new_name[NAME_MAX + 1];
	char old_name[NAME_MAX + 1];
	char previous_name[NAME_MAX + 1];
	int lock;
	int old; /* the file there is, read-only; -1: none */
	struct stat old_st;
	int fd;	    /* the new file; -1 before replace_begin */
	bool named; /* it goes by new_name */
	/* For replace_commit, to be set after replace_open. */
	bool keep_old;	  /* as previous_name */
	bool keep_beside; /* as kept_name, which was free; that is told */
	bool root_only;	  /* as root: only root may write the new file */
	char kept_name[NAME_MAX + 1]; /* NAME.kept; "" before the commit */
};

/*
 * Waits for the lock, ends what a killed run began, then opens the file if
 * there is one: r->old. A symbolic link is followed, and what it points to will
 * be replaced; root follows only those that host/place trusts.
 * At most one of these may be open in a process; it is ended by
 * replace_close, also after false. False comes after a message, from here as
 * from all that follow.
 */
bool replace_open(struct replace *r, const char *path);

/*
 * The same for the file name in dir, which is taken over: no path is looked up.
 * path is for messages.
 */
bool replace_open_at(struct replace *r, const char *path, int dir,
    const char *name);

/*
 * Without the lock, only finds the file's directory and the names in it: r->dir,
 * r->name and so on. This counts as none of those that are open.
 */
bool replace_find(struct replace *r, const char *path);

/* Opens the new file, empty: r->fd. */
bool replace_begin(struct replace *r);

/*
 * Writes a whole text into the new file, and gives it the extended attributes
 * of the old one, access control lists among them, as far as the file system
 * takes them. Labels it gives by itself. False after a message.
 */
bool replace_write_text(const struct replace *r, const char *text, size_t len);

/*
 * Or makes a file in the same directory, that was written already, the new
 * one; it loses its name, and fd is taken over.
 */
bool replace_adopt(struct replace *r, int fd, const char *name);

/*
 * Puts the new file in the place of the old, whose owner and mode it takes
 * over; a file where there was none has mode 0644 less the umask.
 * With root_only, as root, the new file is root's: it takes over the group of a
 * file of root's, and its mode less what lets group and others write; in the
 * place of somebody else's it is root:root with mode 0644. Changes are told.
 */
bool replace_commit(struct replace *r);

/* Drops what was not committed, and gives up the lock. */
void replace_close(struct replace *r);

/* Removes what has a name; for a signal handler that ends the process. */
void replace_abandon(void);

#endif
