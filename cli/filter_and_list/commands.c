/* SPDX-License-Identifier: ISC */
/* keyveto filter and keyveto list: which subcommands they have. */
#include "filter_and_list/commands.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

bool
is_of_filter(const struct cli_command *cmd)
{
	return strncmp(cmd->name, "filter ", strlen("filter ")) == 0;
}

static int
run_filter(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct cli_command *const commands[] = {
		&filter_create,
		&filter_add,
		&filter_merge,
		&filter_diff,
		&filter_patch,
		&filter_info,
		&filter_verify,
		&filter_explain,
	};

	return cli_run_subcommand(cmd, commands, COUNT(commands),
	    "so do keyveto(1) and pkbf(5)", argc, argv);
}

static int
run_list(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct cli_command *const commands[] = {
		&list_create,
		&list_add,
		&list_merge,
		&list_diff,
		&list_patch,
		&list_info,
		&list_verify,
		&list_explain,
	};

	return cli_run_subcommand(cmd, commands, COUNT(commands),
	    "so do keyveto(1) and keyveto-blocklist(5)", argc, argv);
}

const struct cli_command cli_filter = {
	.name = "filter",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = CLI_FILTER_HELP,
	.details = "",
	.run = run_filter,
};

const struct cli_command cli_list = {
	.name = "list",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = CLI_LIST_HELP,
	.details = "",
	.run = run_list,
};
