/* SPDX-License-Identifier: ISC */
/*
 * host/place: the directory and the name of a file that is to be written,
 * found so that nobody can lead root elsewhere.
 *
 * The path is walked name by name. Each name is opened below the directory that
 * was opened before it, and judged by that descriptor: what is exchanged later
 * is not looked at again. As root, a symbolic link is followed only if root
 * owns it, and if its directory is root's and not writable by group or others,
 * unless it is sticky: else somebody else may have put it there. Anybody else
 * follows every link.
 */
#ifndef CLI_HOST_PLACE_H
#define CLI_HOST_PLACE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Opens the directory of the file that path stands for, and sets the name that
 * the file has there, or is to have. A file that is there is regular. False
 * after a message; *dirp is -1 then.
 */
bool place_find(const char *path, int *dirp, char name[static NAME_MAX + 1]);

#endif
