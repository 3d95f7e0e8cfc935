/* SPDX-License-Identifier: ISC */
/* sets/list_consulted: do logins consult a list that keyveto itself keeps? */
#ifndef CLI_SETS_LIST_CONSULTED_H
#define CLI_SETS_LIST_CONSULTED_H

#include "kv_config.h"

/* Whether a Blocklist line of the configuration names the list at path. */
bool list_is_consulted(const struct kv_config *config, const char *path);

/*
 * Whether a Blocklist line would take away the default filter, which logins use
 * because no line names a filter or a list.
 */
bool list_replaces_default(const struct kv_config *config);

/*
 * Prints which line to add to the keyveto.conf at config_path, NULL for the
 * default one, so that logins consult the list.
 */
void list_advise_line(const struct kv_config *config, const char *config_path,
    const char *path);

#endif
