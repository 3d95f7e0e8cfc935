/* SPDX-License-Identifier: ISC */
/*
 * update/never_listed: NeverListed, a file of keys that no new filter or list
 * may hold, such as those of the administrators. No option lets one pass that
 * holds one of them: whoever wants that takes the key out of the file.
 */
#ifndef CLI_UPDATE_NEVER_LISTED_H
#define CLI_UPDATE_NEVER_LISTED_H

#include <stdbool.h>

struct update;

/*
 * Opens the file, if the settings name one, and reads it: a mistake in it must
 * come out before the day on which it matters. False after a message: others may
 * write it, it has no key, or a line of it cannot be read. The descriptor is -1
 * without a file, else the caller's.
 */
bool update_never_listed_open(const char *path, int *fdp);

/*
 * Whether the new filter or list, open as fd, has none of the keys. Prints those
 * that it has. False after a message.
 */
bool update_never_listed_allows(const struct update *u, int fd);

#endif
