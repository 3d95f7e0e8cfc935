/* SPDX-License-Identifier: ISC */
/*
 * update/part: the hidden file .NAME.keyveto-part, into which keyveto update
 * receives the file that will replace NAME. Only one process at a time has that
 * file.
 */
#ifndef CLI_UPDATE_PART_H
#define CLI_UPDATE_PART_H

#include <sys/types.h>

#include <limits.h>
#include <stdbool.h>

struct update_part {
	int dir; /* the caller's */
	char name[NAME_MAX + 1];
	bool named; /* it still has that name */
	int fd;
	const char *path; /* of the file to replace, for messages */
	off_t len;	  /* bytes so far */
};

/*
 * Opens or makes the file, mode 0600, for the file called name in dir; path is
 * for messages. p->len is what it holds already. False after a message, also if
 * another process has it. These functions print a message before they return
 * false.
 */
bool update_part_open(struct update_part *p, int dir, const char *name,
    const char *path);

/* Sets p to the name of that file, without opening it. */
void update_part_name(struct update_part *p, int dir, const char *name);

/* Truncates the file to at bytes. */
bool update_part_cut(struct update_part *p, off_t at);

/*
 * Has the disk keep room for size bytes, so that a full one is known now. Some
 * file systems cannot tell. False with errno, without a message.
 */
bool update_part_reserve(const struct update_part *p, off_t size);

/*
 * Makes a file without a name in dir, beside the file called name, so that it
 * ends with this process. -1 with errno if it cannot be made.
 */
int update_part_nameless(int dir, const char *name);

/* Removes its name, so that it ends with this process. */
void update_part_unname(struct update_part *p);

/* Closes the file. With keep, it stays for the next run, else it is removed. */
void update_part_close(struct update_part *p, bool keep);

#endif
