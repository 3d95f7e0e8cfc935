/* SPDX-License-Identifier: ISC */
/* filter_and_list/commands: the subcommands of keyveto filter and list. */
#ifndef CLI_FILTER_AND_LIST_COMMANDS_H
#define CLI_FILTER_AND_LIST_COMMANDS_H

#include <getopt.h>

#include "command.h"

/* Their names are two words ("filter add"), for usage and --help. */
extern const struct cli_command filter_create, filter_add, filter_merge,
    filter_diff, filter_patch, filter_info, filter_verify, filter_explain;
extern const struct cli_command list_create, list_add, list_merge, list_diff,
    list_patch, list_info, list_verify, list_explain;

/* Whether cmd is a subcommand of keyveto filter, and not of keyveto list. */
bool is_of_filter(const struct cli_command *cmd);

/*
 * filter_and_list/delta.c: writes the delta between the first two of three
 * files to the third one. False after a message.
 */
struct set_kind;
bool delta_between(const struct set_kind *kind, char **path, bool force);

#endif
