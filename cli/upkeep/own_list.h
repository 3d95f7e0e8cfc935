/* SPDX-License-Identifier: ISC */
/*
 * upkeep/own_list: the free list that an ordinary user keeps below the own cache
 * folder: keyveto update installs it, and check, scan and why consult it.
 *
 * Nobody else may be able to change it: it and each folder above it belong to
 * this user or to root, as kv_trusted_open demands.
 */
#ifndef CLI_UPKEEP_OWN_LIST_H
#define CLI_UPKEEP_OWN_LIST_H

#include <limits.h>
#include <stdbool.h>

#include "command.h"

/*
 * Sets path to where this user's list lies: below $XDG_CACHE_HOME, if that is an
 * absolute path, else below ~/.cache. Makes its folder. False after a message.
 */
bool own_list_make_folder(char path[static PATH_MAX]);

/*
 * Adds this user's list, if there is one, to what o judges by: beside the
 * filters and lists of keyveto.conf. Changes nothing for root, or if o names a
 * configuration, a filter or a list. False after a message: it must not be used.
 */
bool own_list_add(struct cli_judge_options *o);

/* This user's home directory. NULL if it is not known. */
const char *own_home(void);

#endif
