/* SPDX-License-Identifier: ISC */
/* keyveto sshd: puts keyveto into sshd, and takes it out. */
#include "sshd/sshd.h"

#include <errno.h>
#include <fcntl.h>
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
	    sizeof(commands) / sizeof(commands[0]), argc, argv);
}

const struct cli_command cli_sshd = {
	.name = "sshd",
	.section = 8,
	.synopsis = "COMMAND [OPTION...]",
	.help = "Put keyveto into sshd, take it out, tell what is guarded",
	.details = "",
	.run = run_sshd,
};

static bool
read_root(const struct cli_option *option)
{
	struct sshd_options *o = option->arg;
	char why[SSHD_WHY_BYTES];
	size_t len = strlen(optarg);

	while (len > 1 && optarg[len - 1] == '/')
		len--;
	if (len >= sizeof(o->root))
		return cli_error("--root: the name is too long");
	snprintf(o->root, sizeof(o->root), "%.*s", (int)len, optarg);
	return root_hold(o->root, why, sizeof(why)) || cli_error("%s", why);
}

int
sshd_read_options(const struct cli_command *cmd, int argc, char **argv,
    struct sshd_options *o)
{
	const struct cli_option options[] = {
		{ .name = "root", .read = read_root, .arg = o },
		{ .name = "sshd", .text = &o->sshd, .path = true },
		{ .name = "timeout",
		    .number = &o->timeout,
		    .min = 1,
		    .max = TIMEOUT_MAX },
		{ .name = "guard", .flag = &o->guard },
		{ .name = "pam", .flag = &o->pam },
		{ .name = "warn", .flag = &o->warn },
		{ .name = "yes", .flag = &o->yes },
		{ .name = "dry-run", .flag = &o->dry_run },
		{ .name = "reload", .flag = &o->reload },
		{ .name = "json", .flag = &o->json },
		{ .name = NULL },
	};
	int status;

	*o = (struct sshd_options){ .sshd = SSHD_PATH,
		.timeout = TIMEOUT_DEFAULT };
	status = cli_read_options(cmd, argc, argv, options, NULL);
	if (status != -1)
		return status;
	if (optind < argc) {
		cli_error("%s takes no argument %s", cmd->name, argv[optind]);
		return cli_usage_error(cmd);
	}
	if (o->reload && *o->root != '\0') {
		cli_error("--reload is for the sshd of this machine, not for "
			  "one below %s",
		    o->root);
		return CLI_UNCHECKED;
	}
	if (geteuid() == 0)
		return -1;
	cli_error("only root can ask sshd for its settings: run it as root");
	return CLI_UNCHECKED;
}

bool
sshd_try_copy(const struct sshd_options *o, struct sshd_copy *c,
    const struct sshd_files *fs, bool next, char *why, size_t cap)
{
	struct sshd_change *change = NULL;
	size_t n = 0;
	bool ok;

	*c = (struct sshd_copy){ 0 };
	if (fs != NULL && (change = sshd_files_changes(fs, next, &n)) == NULL) {
		snprintf(why, cap, "%s", strerror(errno));
		return false;
	}
	ok = sshd_copy_open(c, o->root, change, n, why, cap);
	free(change);
	return ok;
}

bool
sshd_open_copy(const struct sshd_options *o, struct sshd_copy *c,
    const struct sshd_files *fs, bool next)
{
	char why[SSHD_WHY_BYTES];

	return sshd_try_copy(o, c, fs, next, why, sizeof(why)) ||
	    cli_error("%s", why);
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
