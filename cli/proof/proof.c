/* SPDX-License-Identifier: ISC */
/* keyveto proof: its subcommands. */
#include "proof/proof.h"

/* keyveto-publish has this command, and keyveto starts that. */
static int
run_nothing(const struct cli_command *cmd, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cli_error("%s is none of this program's commands", cmd->name);
	return CLI_UNCHECKED;
}

static const struct cli_command make = {
	.name = "proof make",
	.help = CLI_PROOF_MAKE_HELP,
	.run = run_nothing,
};

static const struct cli_command *const commands[] = {
	&proof_verify,
	&make,
};

static int
run_proof(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]), argc, argv);
}

const struct cli_command cli_proof = {
	.name = "proof",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = CLI_PROOF_HELP,
	.details = "",
	.run = run_proof,
};
