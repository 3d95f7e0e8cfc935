/* SPDX-License-Identifier: ISC */
/* proof/proof: the subcommands of keyveto proof. */
#ifndef CLI_PROOF_PROOF_H
#define CLI_PROOF_PROOF_H

#include "command.h"

/* Their names are two words ("proof make"), for usage and --help. */
extern const struct cli_command proof_make, proof_verify;

#endif
