/* SPDX-License-Identifier: ISC */
/*
 * sets/list_names: the names and places in LIST.sources, beside the list
 * (see kv_sources).
 */
#ifndef CLI_SETS_LIST_NAMES_H
#define CLI_SETS_LIST_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the file beside the list at path. -1 if there is none. */
int list_names_open(const char *path);

/* Whether name is a name that a login takes for a source. */
bool list_names_is_valid(const char *name);

/* Says that list_names_set will be called for this list (host/files.h). */
void list_names_promise(const char *path);

/*
 * Whether source id of the list at path may be called name: it has that name,
 * or none. False after a message.
 */
bool list_names_may_set(const char *path, uint8_t id, const char *name);

/*
 * Gives source id that name. With readable, or if everybody may read the list,
 * everybody may read the name. False after a message.
 */
bool list_names_set(const char *path, uint8_t id, const char *name,
    bool readable);

#endif
