/* SPDX-License-Identifier: ISC */
/* keyveto filter: its subcommands. */
#include "filter_and_list/filter.h"

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

static int
run_filter(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]),
	    "so do keyveto(1) and pkbf(5)", argc, argv);
}

const struct cli_command cli_filter = {
	.name = "filter",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = "Make, change and inspect filters",
	.details = "",
	.run = run_filter,
};
