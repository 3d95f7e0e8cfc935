/* SPDX-License-Identifier: ISC */
/* keyveto list: its subcommands. */
#include "filter_and_list/list.h"

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

static int
run_list(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]),
	    "so do keyveto(1) and keyveto-blocklist(5)", argc, argv);
}

const struct cli_command cli_list = {
	.name = "list",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = "Make, change and inspect exact lists",
	.details = "",
	.run = run_list,
};
