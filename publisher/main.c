/* SPDX-License-Identifier: ISC */
/*
 * keyveto-publish: what only a publisher of filters and lists needs. keyveto
 * runs it for `publish` and `proof make`, in its own place.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static const struct cli_command *const commands[] = {
	&cli_publish,
	&cli_proof,
};

int
main(int argc, char **argv)
{
	/* Each message is one write, so that it is not mixed with others'. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	/* If the parent ignored it, waitpid could not tell a status. */
	signal(SIGCHLD, SIG_DFL);
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands);
	     i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			return commands[i]->run(commands[i], argc - 1,
			    argv + 1);
	cli_error("keyveto runs this program for its command publish");
	return CLI_UNCHECKED;
}
