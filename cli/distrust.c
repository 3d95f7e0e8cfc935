/* SPDX-License-Identifier: ISC */
/*
 * Tells why a login would not trust a file. keyveto-worker has functions of its
 * own, which ask.
 */
#include <unistd.h>

#include "command.h"

void
cli_find_distrust(const char *path, char why[static KV_TRUSTED_WHY_BYTES])
{
	int fd = -1;

	why[0] = '\0';
	if (cli_open_as_login(path, &fd, why, NULL) == KV_OK)
		close(fd);
}

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
