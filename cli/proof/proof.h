/* SPDX-License-Identifier: ISC */
/* proof/proof: the subcommands of keyveto proof that keyveto-worker has. */
#ifndef CLI_PROOF_PROOF_H
#define CLI_PROOF_PROOF_H

#include "command.h"

/* Its name is two words, for usage and --help. */
extern const struct cli_command proof_verify;

#endif
