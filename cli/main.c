/* SPDX-License-Identifier: ISC */
/* keyveto: runs the subcommand that the command line names. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "brake/brake.h"
#include "command.h"
#include "wall/wall.h"
#include "working/working.h"

/* The commands that read what others wrote run in keyveto-worker. */
static int
run_worker(const struct cli_command *cmd, int argc, char **argv)
{
	(void)cmd;
	return working_run(argc, argv);
}

static const struct cli_command filter = {
	.heading = "For makers of lists:",
	.name = "filter",
	.help = CLI_FILTER_HELP,
	.run = run_worker,
};

static const struct cli_command list = {
	.name = "list",
	.help = CLI_LIST_HELP,
	.run = run_worker,
};

static const struct cli_command proof = {
	.name = "proof",
	.help = CLI_PROOF_HELP,
	.run = run_worker,
};

static const struct cli_command *const commands[] = {
	&cli_setup,
	&cli_enable,
	&cli_disable,
	&cli_status,
	&cli_check,
	&cli_audit,
	&cli_why,
	&cli_deny,
	&cli_allow,
	&cli_update,
	&cli_config,
	&cli_scan,
	&filter,
	&list,
	&cli_spki,
	&cli_confirm,
	&proof,
};

#define COUNT (sizeof(commands) / sizeof(commands[0]))

/* What was there once, in scripts and units of others, and what to use now. */
struct gone {
	const char *command; /* "": a command; else a word or option of it */
	const char *word, *use;
};

#define PATCH_MADE "zstd --patch-from=OLD NEW -o PATCH makes a patch"
#define PATCH_APPLIED \
	"zstd -d --long=31 --patch-from=OLD PATCH -o NEW applies a patch"

#define ROOT_GONE \
	"keyveto enable --warn at the first boot puts keyveto into a " \
	"machine from an image (docs/operations.md); keyveto check DIR/home " \
	"looks into one; chroot DIR keyveto disable takes it out of one"

static const struct gone gone[] = {
	{ "filter", "diff", PATCH_MADE },
	{ "filter", "patch", PATCH_APPLIED },
	{ "list", "diff",
	    PATCH_MADE "; diff <(xxd -p -c 16 OLD) <(xxd -p -c 16 NEW) shows "
		       "the records" },
	{ "list", "patch", PATCH_APPLIED },
	{ "", "sessions",
	    "keyveto audit --logins names the processes that are still "
	    "connected; docs/drill.md says how to end them" },
	{ "check", "--jobs",
	    "one thread reads; for many folders, printf '%s\\0' /srv/*/ | "
	    "xargs -0 -n 1 -P 4 keyveto check" },
	{ "scan", "--jobs", "64 servers are asked at a time; leave it out" },
	{ "audit", "--known",
	    "audit --logins tells of the keys of files and of DenyKey; look for "
	    "any other in the log: journalctl | grep -F SHA256:..." },
	{ "audit", "--since",
	    "keyveto-report --since compares the audits of hosts; for one host, "
	    "diff two of keyveto audit --json --all" },
	{ "audit", "--deny-weak",
	    "keyveto audit names such keys, and keyveto deny refuses them: "
	    "docs/no-secret.md has the line that does both" },
	{ "enable", "--root", ROOT_GONE },
	{ "disable", "--root", ROOT_GONE },
	{ "", "report",
	    "keyveto-report, of the package keyveto-fleet, joins the audits of "
	    "hosts" },
	{ "", "publish",
	    "keyveto-publish, of the package keyveto-fleet, makes the folder" },
	{ "proof", "make",
	    "fleet/prove_leak.py makes such a proof; docs/drill.md says how" },
};

/* Commands by their old names, of one or two words. */
static const struct {
	const char *old[2], *now;
} aliases[] = {
	{ { "sshd", "enable" }, "enable" },
	{ { "sshd", "disable" }, "disable" },
	{ { "sshd", "status" }, "status" },
	{ { "config", "check" }, "status" },
	{ { "doctor", NULL }, "status" },
};

static const struct cli_command keyveto = {
	.name = "",
	.synopsis = "COMMAND [OPTION...] [ARGUMENT...]",
};

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

/* Every command takes --version and -V, too. */
static bool
asks_for_version(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "version") == 0)
		return true;
	for (size_t i = 0; argc > 2 && i < COUNT; i++)
		if (strcmp(argv[1], commands[i]->name) == 0)
			word = argv[2];
	return strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
}

/* Whether the command line has the word where it once had a meaning. */
static bool
uses_gone(const struct gone *g, int argc, char **argv)
{
	const size_t len = strlen(g->word);
	const int first = *g->command == '\0' ? 1 : 2;

	if (argc <= first || (first == 2 && strcmp(argv[1], g->command) != 0))
		return false;
	if (*g->word != '-')
		return strcmp(argv[first], g->word) == 0;
	for (int i = first; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], g->word, len) == 0 &&
		    (argv[i][len] == '\0' || argv[i][len] == '='))
			return true;
	return false;
}

/* Whether it uses a word that is gone, after a message with what to use. */
static bool
names_gone(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		const struct gone *g = &gone[i];

		if (!uses_gone(g, argc, argv))
			continue;
		cli_error("%s%s%s is gone: %s", g->command,
		    *g->command != '\0' ? " " : "", g->word, g->use);
		return true;
	}
	return false;
}

/* Makes "COMMAND --help" of "help COMMAND". */
static void
turn_help(int argc, char **argv)
{
	static char option[] = "--help";

	if (argc < 3 || strcmp(argv[1], "help") != 0)
		return;
	memmove(&argv[1], &argv[2], (size_t)(argc - 2) * sizeof(*argv));
	argv[argc - 1] = option;
}

/* Replaces an old name by the one of today. Returns where argv is then. */
static char **
turn_alias(int *argcp, char **argv)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		const int n = aliases[i].old[1] != NULL ? 2 : 1;

		if (*argcp <= n || strcmp(argv[1], aliases[i].old[0]) != 0 ||
		    (n == 2 && strcmp(argv[2], aliases[i].old[1]) != 0))
			continue;
		argv[n] = (char *)aliases[i].now;
		argv[n - 1] = argv[0];
		*argcp -= n - 1;
		return argv + n - 1;
	}
	return argv;
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
	change_set_judge(brake_may_take_effect);
	turn_help(argc, argv);
	argv = turn_alias(&argc, argv);
	if (asks_for_version(argc, argv)) {
		puts("keyveto " KEYVETO_VERSION);
		return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	if (names_gone(argc, argv))
		return CLI_UNCHECKED;
	return cli_run_subcommand(&keyveto, commands, COUNT, argc, argv);
}
