/* SPDX-License-Identifier: ISC */
/* keyveto sshd: puts keyveto into sshd, and takes it out. */
#include "sshd/sshd.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/root_file.h"

#define TIMEOUT_DEFAULT 30
#define TIMEOUT_MAX 3600

static const struct cli_command *const commands[] = {
	&sshd_status,
	&sshd_enable,
	&sshd_disable,
};

static int
run_sshd(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands,
	    sizeof(commands) / sizeof(commands[0]), "so does keyveto(1)", argc,
	    argv);
}

const struct cli_command cli_sshd = {
	.name = "sshd",
	.synopsis = "COMMAND [OPTION...]",
	.help = "Put keyveto into sshd, take it out, tell what is guarded",
	.details = "",
	.run = run_sshd,
};

enum { ROOT = 1, SSHD, TIMEOUT, GUARD, PAM, WARN, YES, DRY_RUN, RELOAD, JSON };

static bool
set_option(struct sshd_options *o, int opt)
{
	bool *const flags[] = {
		[GUARD] = &o->guard,
		[PAM] = &o->pam,
		[WARN] = &o->warn,
		[YES] = &o->yes,
		[DRY_RUN] = &o->dry_run,
		[RELOAD] = &o->reload,
		[JSON] = &o->json,
	};
	char why[SSHD_WHY_BYTES];
	size_t len;

	switch (opt) {
	case ROOT:
		len = strlen(optarg);
		while (len > 1 && optarg[len - 1] == '/')
			len--;
		if (len >= sizeof(o->root))
			return cli_error("--root: the name is too long");
		snprintf(o->root, sizeof(o->root), "%.*s", (int)len, optarg);
		if (root_hold(o->root, why, sizeof(why)))
			return true;
		return cli_error("%s", why);
	case SSHD:
		return cli_option_path("--sshd", &o->sshd);
	case TIMEOUT:
		return cli_option_number("--timeout", TIMEOUT_MAX, &o->timeout);
	default:
		*flags[opt] = true;
		return true;
	}
}

/* All options; sshd_read_options takes those that the synopsis names. */
static const struct option options[] = {
	{ "root", required_argument, NULL, ROOT },
	{ "sshd", required_argument, NULL, SSHD },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "guard", no_argument, NULL, GUARD },
	{ "pam", no_argument, NULL, PAM },
	{ "warn", no_argument, NULL, WARN },
	{ "yes", no_argument, NULL, YES },
	{ "dry-run", no_argument, NULL, DRY_RUN },
	{ "reload", no_argument, NULL, RELOAD },
	{ "json", no_argument, NULL, JSON },
	CLI_HELP_LONGOPT,
};

int
sshd_read_options(const struct cli_command *cmd, int argc, char **argv,
    struct sshd_options *o, int *statusp)
{
	/* Zeroes end the list for getopt_long. */
	struct option chosen[sizeof(options) / sizeof(options[0]) + 1] = { 0 };
	char name[32];
	size_t n = 0;
	int opt;

	*o = (struct sshd_options){ .sshd = SSHD_PATH,
		.timeout = TIMEOUT_DEFAULT };
	*statusp = CLI_UNCHECKED;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		snprintf(name, sizeof(name), "[--%s%s", options[i].name,
		    options[i].has_arg == required_argument ? " " : "]");
		if (options[i].val == CLI_OPT_HELP ||
		    strstr(cmd->synopsis, name) != NULL)
			chosen[n++] = options[i];
	}
	while ((opt = cli_getopt(cmd, argc, argv, chosen)) != -1) {
		if (opt == CLI_OPT_HELP) {
			*statusp = cli_help(cmd);
			return -1;
		}
		if (opt == '?' || !set_option(o, opt))
			return -1;
	}
	if (optind < argc) {
		cli_error("%s takes no argument %s", cmd->name, argv[optind]);
		*statusp = cli_usage_error(cmd);
		return -1;
	}
	if (o->reload && *o->root != '\0') {
		cli_error("--reload is for the sshd of this machine, not for "
			  "one below %s",
		    o->root);
		return -1;
	}
	if (geteuid() == 0)
		return 0;
	cli_error("only root can ask sshd for its settings: run it as root");
	return -1;
}

bool
sshd_open_copy(const struct sshd_options *o, struct sshd_copy *c,
    const struct sshd_files *fs, bool next)
{
	struct sshd_change *change = NULL;
	char why[SSHD_WHY_BYTES];
	size_t n = 0;
	bool ok;

	*c = (struct sshd_copy){ 0 };
	if (fs != NULL && (change = sshd_files_changes(fs, next, &n)) == NULL)
		return cli_error("%s", strerror(errno));
	ok = sshd_copy_open(c, o->root, change, n, why, sizeof(why));
	free(change);
	if (!ok)
		cli_error("%s", why);
	return ok;
}

char *
sshd_ask_copy(const struct sshd_options *o, struct sshd_copy *c,
    const char *user)
{
	char why[SSHD_WHY_BYTES];
	char *dump = sshd_copy_ask(o->sshd, c, *o->root != '\0', user, why,
	    sizeof(why));

	if (dump == NULL)
		cli_error("%s", why);
	return dump;
}

struct sshd_settings *
sshd_ask_settings(const struct sshd_options *o, struct sshd_copy *c,
    const char *user)
{
	char *dump = sshd_ask_copy(o, c, user);
	struct sshd_settings *s = dump != NULL ?
	    sshd_settings_parse(dump) :
	    NULL;

	if (dump != NULL && s == NULL)
		cli_error("%s", strerror(errno));
	free(dump);
	return s;
}

const char *
sshd_service(const struct sshd_settings *s)
{
	/* Debian 12's sshd has no PAMServiceName. */
	return s != NULL && *s->service != '\0' ? s->service : "sshd";
}

bool
sshd_find_accounts(const struct sshd_options *o, struct accounts *a)
{
	FILE *f = NULL;
	bool ok;
	int fd;

	if (*o->root != '\0') {
		fd = root_open(o->root, "/etc/passwd", O_RDONLY);
		if (fd == -1 && errno == ENOENT) {
			cli_error("note: %s/etc/passwd: not there: no account "
				  "is known, and none can be looked at",
			    o->root);
			return true;
		}
		f = fd != -1 ? fdopen(fd, "r") : NULL;
	}
	ok = (f != NULL || *o->root == '\0') && accounts_add_file(a, f);
	if (f != NULL)
		fclose(f);
	if (!ok)
		cli_error("%s: the list of accounts: %s",
		    *o->root != '\0' ? o->root : "/etc/passwd",
		    strerror(errno));
	return ok;
}
