/* SPDX-License-Identifier: ISC */
/* filter_and_list/filter: the subcommands of keyveto filter. */
#ifndef CLI_FILTER_AND_LIST_FILTER_H
#define CLI_FILTER_AND_LIST_FILTER_H

#include <getopt.h>

#include "command.h"

/* Their names are two words ("filter add"), for usage and --help. */
extern const struct cli_command filter_create, filter_add, filter_merge,
    filter_diff, filter_patch, filter_info, filter_verify, filter_explain;

#endif
