/* SPDX-License-Identifier: ISC */
/*
 * host/temporary: a folder below /tmp for files of one run. It goes with the
 * run, also if that is killed.
 */
#ifndef CLI_HOST_TEMPORARY_H
#define CLI_HOST_TEMPORARY_H

#include <sys/types.h>

#include <stdbool.h>

/* All zeroes: there is none. */
struct temporary {
	char path[48];
	pid_t remover; /* makes the folder, and removes it */
	int alive;     /* a socket: the remover waits until it is closed */
};

/*
 * Makes /tmp/NAME.XXXXXX, mode 0700, for plain files. False with errno: then
 * there is none.
 */
bool temporary_make(struct temporary *t, const char *name);

/* Removes the folder with its files, if there is one. */
void temporary_remove(struct temporary *t);

#endif
