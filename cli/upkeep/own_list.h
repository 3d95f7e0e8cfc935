/* SPDX-License-Identifier: ISC */
/*
 * upkeep/own_list: the lists that commands which only look consult where nobody
 * named one: those of this machine, and the free list that an ordinary user
 * keeps below the own cache folder, where keyveto update installs it.
 *
 * Nobody else may be able to change the user's own: it and each folder above it
 * belong to this user or to root, as kv_trusted_open demands.
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

/* Without the note that no login consults the free list. */
#define OWN_LIST_QUIETLY 1u
/*
 * What is said is said of logins: the free list counts only in the place of a
 * default filter that is not there, without which no login gets a verdict.
 */
#define OWN_LIST_OF_LOGINS 2u

/*
 * Sets what o judges by: the filters and lists of keyveto.conf, or, where it
 * names none, the default filter and the free list, if they are there, with a note
 * that no login consults the latter; and this user's own list, if there is one. Changes nothing if o names a configuration, a
 * filter or a list, or if there is none. False after a message: the user's own
 * must not be used. Call it once: o gets strings of this function.
 */
bool own_list_add(struct cli_judge_options *o, unsigned int flags);

/* This user's home directory. NULL if it is not known. */
const char *own_home(void);

#endif
