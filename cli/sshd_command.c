/* SPDX-License-Identifier: ISC */
/* sshd: putting keyveto into sshd, and taking it out. */
#include "sshd_command.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "root_file.h"
#include "sshd_config.h"

#define TIMEOUT_DEFAULT 30
#define TIMEOUT_MAX 3600

static const struct cli_command *const commands[] = {
	&sshd_status, &sshd_enable, &sshd_disable
};

static int
run_sshd(const struct cli_command *cmd, int argc, char **argv)
{
	return cli_run_subcommand(cmd, commands, sizeof(commands) /
	    sizeof(commands[0]), "so does keyveto(1)", argc, argv);
}

const struct cli_command cli_sshd = {
	.name = "sshd",
	.synopsis = "COMMAND [OPTION...]",
	.help = "Put keyveto into sshd, take it out, tell what is guarded",
	.details = "",
	.run = run_sshd,
};

enum { ROOT = 1, SSHD, TIMEOUT, GUARD, PAM, WARN, YES, DRY_RUN, RELOAD, JSON };

/* False after a message. */
static bool
take_root(struct sshd_options *o, const char *path)
{
	char real[PATH_MAX];
	struct stat st;

	if (realpath(path, real) == NULL || stat(real, &st) == -1) {
		cli_error("%s: %s", path, strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode) || strlen(real) >= sizeof(o->root)) {
		cli_error("%s: not a directory", path);
		return false;
	}
	/* "/" is this machine, of which no copy is needed. */
	snprintf(o->root, sizeof(o->root), "%s",
	    strcmp(real, "/") == 0 ? "" : real);
	return true;
}

static bool
take_option(struct sshd_options *o, int opt)
{
	switch (opt) {
	case ROOT:
		return take_root(o, optarg);
	case SSHD:
		o->sshd = optarg;
		if (*optarg == '/')
			return true;
		cli_error("--sshd takes an absolute path, not %s", optarg);
		return false;
	case TIMEOUT:
		if (cli_read_number(optarg, 1, TIMEOUT_MAX, &o->timeout))
			return true;
		cli_error("--timeout takes a number from 1 to %d, not %s",
		    TIMEOUT_MAX, optarg);
		return false;
	case GUARD:
		o->guard = true;
		return true;
	case PAM:
		o->pam = true;
		return true;
	case WARN:
		o->warn = true;
		return true;
	case YES:
		o->yes = true;
		return true;
	case DRY_RUN:
		o->dry_run = true;
		return true;
	case RELOAD:
		o->reload = true;
		return true;
	default:
		o->json = true;
		return true;
	}
}

/* Each subcommand has some of these. */
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
	{ NULL, 0, NULL, 0 }
};

#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* Those that the synopsis names. */
static void
choose_options(const struct cli_command *cmd, struct option *chosen)
{
	char name[32];
	size_t n = 0;

	for (size_t i = 0; i < OPTIONS; i++) {
		if (options[i].name != NULL)
			snprintf(name, sizeof(name), "[--%s%s",
			    options[i].name, options[i].has_arg ==
			    required_argument ? " " : "]");
		if (options[i].name == NULL ||
		    options[i].val == CLI_OPT_HELP ||
		    strstr(cmd->synopsis, name) != NULL)
			chosen[n++] = options[i];
	}
}

int
sshd_read_options(const struct cli_command *cmd, int argc, char **argv,
    struct sshd_options *o, int *statusp)
{
	struct option chosen[OPTIONS];
	int opt;

	*o = (struct sshd_options){
		.sshd = SSHD_PATH, .timeout = TIMEOUT_DEFAULT
	};
	*statusp = CLI_UNCHECKED;
	choose_options(cmd, chosen);
	while ((opt = cli_getopt(cmd, argc, argv, chosen)) != -1) {
		if (opt == CLI_OPT_HELP) {
			*statusp = cli_help(cmd);
			return -1;
		}
		if (opt == '?' || !take_option(o, opt))
			return -1;
	}
	if (optind < argc) {
		cli_error("%s takes no argument %s", cmd->name, argv[optind]);
		*statusp = cli_usage_error(cmd);
		return -1;
	}
	if (o->reload && *o->root != '\0') {
		cli_error("--reload is for the sshd of this machine, not for "
		    "one below %s", o->root);
		return -1;
	}
	if (geteuid() == 0)
		return 0;
	cli_error("only root can ask sshd for its settings: run it as root");
	return -1;
}

bool
sshd_open_tree(const struct sshd_options *o, struct sshd_tree *t,
    const struct sshd_change *change, size_t n)
{
	char why[SSHD_WHY_BYTES];

	if (sshd_tree_open(t, o->root, change, n, why, sizeof(why)))
		return true;
	cli_error("%s", why);
	return false;
}

bool
sshd_open_changed(const struct sshd_options *o, const struct sshd_files *fs,
    bool next, struct sshd_tree *t)
{
	size_t n;
	struct sshd_change *change = sshd_files_changes(fs, next, &n);
	bool ok;

	*t = (struct sshd_tree){ 0 };
	if (change == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	ok = sshd_open_tree(o, t, change, n);
	free(change);
	return ok;
}

char *
sshd_ask_tree(const struct sshd_options *o, struct sshd_tree *t,
    const char *user)
{
	char why[SSHD_WHY_BYTES];
	char *dump = sshd_dump(o->sshd, t, *o->root != '\0', user, why,
	    sizeof(why));

	if (dump == NULL)
		cli_error("%s", why);
	return dump;
}

/* What the state knows better than a look at the file. */
static bool
apply_state(struct sshd_present *p)
{
	for (size_t i = 0; i < p->state.n; i++) {
		const struct sshd_kept *k = &p->state.v[i];
		struct sshd_file *f = sshd_files_add(&p->files, k->path);

		if (f == NULL)
			return false;
		if (f->blocks > 0)
			f->made = !k->there;
	}
	return true;
}

bool
sshd_present_open(const struct sshd_options *o, struct sshd_present *p)
{
	*p = (struct sshd_present){ .files.root = o->root };
	return sshd_state_load(o->root, &p->state) &&
	    sshd_open_tree(o, &p->now, NULL, 0) &&
	    sshd_files_add_tree(&p->files, &p->now) &&
	    sshd_files_add(&p->files, SSHD_DROP_IN) != NULL &&
	    sshd_files_add(&p->files, KV_CONFIG_PATH) != NULL &&
	    apply_state(p);
}

void
sshd_present_close(struct sshd_present *p)
{
	sshd_tree_close(&p->now);
	sshd_files_free(&p->files);
	sshd_state_free(&p->state);
}

/* Without the lines that differ by the host key that was made for sshd. */
static bool
same_settings(const char *a, const char *b)
{
	for (;;) {
		size_t n, m;

		while (strncasecmp(a, "hostkey ", 8) == 0)
			a += strcspn(a, "\n") + (strchr(a, '\n') != NULL);
		while (strncasecmp(b, "hostkey ", 8) == 0)
			b += strcspn(b, "\n") + (strchr(b, '\n') != NULL);
		n = strcspn(a, "\n");
		m = strcspn(b, "\n");
		if (n != m || memcmp(a, b, n) != 0)
			return false;
		if (a[n] == '\0' || b[n] == '\0')
			return a[n] == b[n];
		a += n + 1;
		b += n + 1;
	}
}

bool
sshd_copy_is_faithful(const struct sshd_options *o, struct sshd_tree *t)
{
	static const char *const argument[] = { "-T" };
	struct sshd sshd = { .path = o->sshd, .config = SSHD_TREE_TOP };
	char why[SSHD_WHY_BYTES], *real, *copy;
	bool same;

	if (*o->root != '\0')
		return true;
	if ((copy = sshd_ask_tree(o, t, NULL)) == NULL)
		return false;
	sshd.host_key = t->host_key;
	real = sshd_run(&sshd, argument, 1, why, sizeof(why));
	same = real != NULL && same_settings(real, copy);
	if (real == NULL)
		cli_error("%s", why);
	else if (!same)
		cli_error(SSHD_TREE_TOP ": sshd reads this file in another way "
		    "than keyveto does, or it is being changed; put keyveto in "
		    "by hand");
	free(real);
	free(copy);
	return same;
}

void
sshd_pam_service(const char *dump, char name[static SSHD_VALUE_BYTES])
{
	/* Only newer ones can be told another. */
	if (!sshd_dump_value(dump, "pamservicename", name))
		snprintf(name, SSHD_VALUE_BYTES, "sshd");
}

bool
sshd_find_accounts(const struct sshd_options *o, struct accounts *a)
{
	FILE *f;
	bool ok;
	int fd;

	if (*o->root == '\0') {
		ok = accounts_add_all(a);
	} else {
		fd = root_open(o->root, "/etc/passwd", O_RDONLY);
		if (fd == -1 && errno == ENOENT) {
			cli_error("note: %s/etc/passwd: not there: no account "
			    "is known, and none can be looked at", o->root);
			return true;
		}
		f = fd != -1 ? fdopen(fd, "r") : NULL;
		ok = f != NULL && accounts_add_file(a, f);
		if (f != NULL)
			fclose(f);
	}
	if (!ok)
		cli_error("%s: the list of accounts: %s", *o->root != '\0' ?
		    o->root : "/etc/passwd", strerror(errno));
	return ok;
}

static int
run_quietly(char *const *argv)
{
	char search[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char *const env[] = { search, NULL };
	int status = 0;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, env) != 0)
		return -1;
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

static bool
systemctl(const char *what, const char *unit)
{
	char program[] = "systemctl", quiet[] = "--quiet";
	char verb[32], name[32];
	char *const argv[] = { program, quiet, verb, name, NULL };

	snprintf(verb, sizeof(verb), "%s", what);
	snprintf(name, sizeof(name), "%s", unit);
	return run_quietly(argv) == 0;
}

/*
 * Debian 12's sshd does not take systemd's socket a second time: reloaded, it
 * ends, and its unit has failed until the next connection. Sessions outlive a
 * restart.
 */
static bool
reload_unit(const char *service, const char *socket)
{
	return systemctl("is-active", service) && systemctl(systemctl(
	    "is-active", socket) ? "try-restart" : "reload", service);
}

/* Whether the process is an sshd, as far as its name tells. */
static bool
is_sshd(pid_t pid)
{
	char path[64], name[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, name, sizeof(name));
	close(fd);
	return n == 5 && memcmp(name, "sshd\n", 5) == 0;
}

/* SIGHUP for the sshd whose process id is in the file. */
static bool
signal_listener(const char *path)
{
	uint64_t pid;
	char *text;
	size_t len;
	bool ok;

	/* PidFile may be none. */
	if (*path != '/' || (text = root_read("", path, &len)) == NULL)
		return false;
	text[strcspn(text, "\r\n \t")] = '\0';
	ok = cli_read_number(text, 2, INT32_MAX, &pid) &&
	    is_sshd((pid_t)pid) && kill((pid_t)pid, SIGHUP) == 0;
	free(text);
	return ok;
}

bool
sshd_reload(const char *dump)
{
	const bool systemd = access("/run/systemd/system", F_OK) == 0;
	char path[SSHD_VALUE_BYTES];

	if (systemd && (reload_unit("ssh.service", "ssh.socket") ||
	    reload_unit("sshd.service", "sshd.socket")))
		return true;
	if (!sshd_dump_value(dump, "pidfile", path))
		snprintf(path, sizeof(path), "none");
	if (signal_listener(path))
		return true;
	/* The sshd that systemd starts for a connection reads its files then. */
	if (systemd && (systemctl("is-active", "ssh.socket") ||
	    systemctl("is-active", "sshd.socket")))
		return true;
	cli_error("%s: names no running sshd; nothing was reloaded", path);
	return false;
}
