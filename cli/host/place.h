/* SPDX-License-Identifier: ISC */
/*
 * host/place: finds the directory and the name of a file that is to be written,
 * so that no other user can redirect root to another file.
 *
 * The path is opened name by name, each below the directory opened before it,
 * and is judged by the open descriptor. So a later change of a name has no
 * effect.
 *
 * Root follows a symbolic link only if root owns the link and its directory,
 * and group and others may not write to that directory, unless it is sticky.
 * Otherwise another user may have made the link. Other users follow every link.
 */
#ifndef CLI_HOST_PLACE_H
#define CLI_HOST_PLACE_H

#include <limits.h>
#include <stdbool.h>

/*
 * Opens the directory of the file that path stands for, links resolved, and
 * sets name to the file's name in it. The file may not exist yet; if it does,
 * it is a regular file. The caller closes *dirp. False after a message, with
 * *dirp -1.
 */
bool place_find(const char *path, int *dirp, char name[static NAME_MAX + 1]);

#endif
