/* SPDX-License-Identifier: ISC */
/* keyveto: runs the subcommand that the command line names. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static const struct cli_command *const commands[] = {
	&cli_check,
	&cli_audit,
	&cli_scan,
	&cli_spki,
	&cli_filter,
	&cli_update,
	&cli_sshd,
	&cli_config,
	&cli_allow,
	&cli_doctor,
};

#define COUNT (sizeof(commands) / sizeof(commands[0]))

static void
print_usage(FILE *out)
{
	fputs("usage: keyveto COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < COUNT; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name,
		    commands[i]->help);
	fputs("\n'keyveto COMMAND --help' tells more; so does keyveto(1).\n",
	    out);
}

static int
print_version(void)
{
	puts("keyveto " KEYVETO_VERSION);
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

/*
 * Opens descriptors 0, 1 and 2 if they are closed: a file that is opened later
 * must not become standard error. Reading from or writing to them still fails.
 */
static bool
open_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null",
			fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			return false;
	}
	return true;
}

static int
run_command(const struct cli_command *cmd, int argc, char **argv)
{
	static char name[] = "keyveto";

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return print_version();
	argv[0] = name; /* the name in getopt's messages */
	return cmd->run(cmd, argc, argv);
}

int
main(int argc, char **argv)
{
	if (!open_standard_descriptors())
		return CLI_UNCHECKED;
	/* Each message is one write, so that it is not mixed with others'. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	/* If the parent ignored it, waitpid could not tell a status. */
	signal(SIGCHLD, SIG_DFL);
	if (argc < 2) {
		print_usage(stderr);
		return CLI_UNCHECKED;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_usage(stdout);
		return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	if (strcmp(argv[1], "--version") == 0)
		return print_version();
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(argv[1], commands[i]->name) == 0)
			return run_command(commands[i], argc - 1, argv + 1);
	}
	cli_error("unknown command %s", argv[1]);
	print_usage(stderr);
	return CLI_UNCHECKED;
}
