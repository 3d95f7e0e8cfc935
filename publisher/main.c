/* SPDX-License-Identifier: ISC */
/*
 * keyveto-publish: what only a publisher of filters and lists needs. keyveto
 * runs it for `publish`, in its own place.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

int
main(int argc, char **argv)
{
	/* Each message is one write, so that it is not mixed with others'. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	/* If the parent ignored it, waitpid could not tell a status. */
	signal(SIGCHLD, SIG_DFL);
	if (argc > 1 && strcmp(argv[1], "publish") == 0)
		return cli_publish.run(&cli_publish, argc - 1, argv + 1);
	cli_error("keyveto runs this program for its command publish");
	return CLI_UNCHECKED;
}
