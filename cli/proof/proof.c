/* SPDX-License-Identifier: ISC */
/* keyveto proof: its subcommands. */
#include "proof/proof.h"

static const struct cli_command *const commands[] = {
	&proof_verify,
	&proof_make,
};

static int
run_proof(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]),
	    "so do keyveto(1) and keyveto-proof(5)", argc, argv);
}

const struct cli_command cli_proof = {
	.name = "proof",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
	.help = CLI_PROOF_HELP,
	.details = "",
	.run = run_proof,
};
