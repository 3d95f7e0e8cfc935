/* SPDX-License-Identifier: ISC */
/* Warns of a file that a login would not trust. keyveto-worker has its own. */
#include <unistd.h>

#include "command.h"

void
cli_warn_if_distrusted(const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES];

	if (geteuid() != 0)
		return;
	cli_find_distrust(path, why);
	if (why[0] != '\0')
		cli_error("warning: %s: a login would not trust this file",
		    why);
}
