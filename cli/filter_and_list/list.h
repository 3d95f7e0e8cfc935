/* SPDX-License-Identifier: ISC */
/* filter_and_list/list: the subcommands of keyveto list. */
#ifndef CLI_FILTER_AND_LIST_LIST_H
#define CLI_FILTER_AND_LIST_LIST_H

#include "command.h"

/* Their names are two words ("list add"), for usage and --help. */
extern const struct cli_command list_create, list_add, list_merge, list_diff,
    list_patch, list_info, list_verify, list_explain;

#endif
