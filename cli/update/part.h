/* SPDX-License-Identifier: ISC */
/*
 * update/part: the file into which keyveto update receives what will replace
 * NAME. It is beside it, and has no name, so that it ends with the process. Who
 * has the lock of the empty file .NAME.keyveto-part may update NAME.
 */
#ifndef CLI_UPDATE_PART_H
#define CLI_UPDATE_PART_H

#include <sys/types.h>

#include <limits.h>
#include <stdbool.h>

struct update_part {
	int dir; /* the caller's */
	char lock_name[NAME_MAX + 1];
	int lock; /* -1: not held */
	int fd;
	/* The same file for who judges it: nobody can write through this one. */
	int reads;
	const char *path; /* of the file to replace, for messages */
	off_t len;	  /* bytes so far */
};

/*
 * Takes the lock of the file called name in dir, and makes an empty file; path
 * is for messages. False after a message, also if another process has the lock.
 */
bool update_part_open(struct update_part *p, int dir, const char *name,
    const char *path);

/*
 * Makes a file without a name in dir, beside the file called name, whose lock
 * the caller has. Mode 0600. -1 with errno if it cannot be made.
 */
int update_part_nameless(int dir, const char *name);

/* Empties the file. False after a message. */
bool update_part_empty(struct update_part *p);

/* Closes the file, and gives up the lock. */
void update_part_close(struct update_part *p);

#endif
