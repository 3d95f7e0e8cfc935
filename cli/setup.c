/* SPDX-License-Identifier: ISC */
/*
 * keyveto setup: runs update and enable, and has a timer or cron keep the list
 * current. Where sshd asks keyveto already, it changes nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/program.h"
#include "sshd/sshd.h"
#include "sshd/usable.h"
#include "sshd_config/arguments.h"
#include "upkeep/settings.h"
#include "ways/asks.h"
#include "ways/configurations.h"

#define SYSTEMCTL "/usr/bin/systemctl"
#define TIMER "keyveto-update.timer"
#define CRON "/etc/cron.d/keyveto-update"
#ifndef KV_DATADIR
#define KV_DATADIR "/usr/share/keyveto"
#endif

enum { SETUP_DONE = 0, SETUP_DECIDE = 1, SETUP_FAILED = 2 };

static const char cron_sample[] = KV_DATADIR "/cron/keyveto-update";

/* Runs a program, which gets no input. Its exit status. */
static int
run(const char *const *argv)
{
	struct program p = { .argv = argv, .env = environ };
	int status;

	fflush(stdout);
	program_fds(&p, PROGRAM_NULL, STDOUT_FILENO, STDERR_FILENO);
	return program_run(&p, &status) == 0 && WIFEXITED(status) ?
	    WEXITSTATUS(status) :
	    SETUP_FAILED;
}

/* Runs a command of this keyveto. Its exit status. */
static int
run_keyveto(const char *command, const char *option, const char *other)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *const argv[] = { self, command, option, other, NULL };

	if (n == -1) {
		(void)cli_failed("/proc/self/exe", "cannot be read");
		return SETUP_FAILED;
	}
	self[n] = '\0';
	return run(argv);
}

static int
run_enable(bool enforce)
{
	const struct sshd_arguments all = { .arg = NULL };
	/* Where no sshd runs, there is none to reload. */
	const char *reload = sshd_has_systemd() ||
		sshd_arguments_find(&all) > 0 ?
	    "--reload" :
	    NULL;

	return enforce ? run_keyveto("enable", reload, NULL) :
			 run_keyveto("enable", "--warn", reload);
}

/* sshd asks keyveto: nothing changes, but that a host that watches may enforce. */
static int
set_up_again(bool enforce)
{
	const struct kv_paths none = { .n_filters = 0 };
	char why[SSHD_WHY_BYTES];
	struct kv_judge j;
	bool warn;

	if (!sshd_usable_verdict(KV_CONFIG_PATH, why)) {
		cli_error("sshd asks keyveto already, and logins get no "
			  "verdict: %s; type keyveto status",
		    why);
		return SETUP_FAILED;
	}
	kv_judge_open_with(&j, KV_CONFIG_PATH, &none, cli_open_as_login, NULL);
	warn = j.config.on_hit != KV_ACTION_DENY;
	kv_judge_close(&j);
	if (warn && enforce)
		return run_enable(true);
	puts(warn ? "sshd asks keyveto already: listed keys get in, and are "
		    "logged; keyveto enable --reload refuses them" :
		    "sshd asks keyveto already: listed keys are refused");
	return cli_stdout_ok() ? SETUP_DONE : SETUP_FAILED;
}

static bool
any_list(void)
{
	return access(UPDATE_BADKEYS_TARGET, F_OK) == 0 ||
	    access(KV_CONFIG_FILTER_PATH, F_OK) == 0;
}

/* Has a timer or cron fetch newer lists. False after a message. */
static bool
keep_current(void)
{
	const char *const enable[] = { SYSTEMCTL, "--quiet", "enable", "--now",
		TIMER, NULL };
	const char *const install[] = { "/usr/bin/install", "-m", "0644",
		cron_sample, CRON, NULL };

	if (sshd_has_systemd() && run(enable) == 0)
		return puts(TIMER " keeps the list current") != EOF;
	/* The line does nothing where systemd runs. */
	if (!sshd_has_systemd() &&
	    (access(CRON, F_OK) == 0 || run(install) == 0))
		return puts("cron keeps the list current, by " CRON) != EOF;
	return cli_error("note: nobody keeps the list current: have something "
			 "run keyveto update each day");
}

static int
set_up(bool enforce)
{
	bool decide = false;
	int status;

	puts("fetching the list of compromised keys");
	if (run_keyveto("update", "--quiet", NULL) == CLI_UNCHECKED) {
		if (!any_list()) {
			cli_error(
			    "there is no list: sshd, PAM and keyveto.conf "
			    "were not changed");
			return SETUP_FAILED;
		}
		decide = true;
		cli_error("note: no newer list could be fetched: setup goes on "
			  "with what is there");
	}
	status = run_enable(enforce);
	/* It may have been put in all the same, and sshd not reloaded. */
	if (status == SETUP_FAILED && asks_sshd(KV_CONFIG_PATH)->yes)
		status = SETUP_DECIDE;
	if (status == SETUP_FAILED) {
		cli_error("sshd, PAM and keyveto.conf are as before");
		return SETUP_FAILED;
	}
	decide |= !keep_current() || status == SETUP_DECIDE;
	if (status == SETUP_DONE && !enforce)
		puts("nobody is refused so far; to refuse listed keys, type "
		     "keyveto enable --reload");
	if (cli_stdout_ok())
		return decide ? SETUP_DECIDE : SETUP_DONE;
	return SETUP_FAILED;
}

static int
run_setup(const struct cli_command *cmd, int argc, char **argv)
{
	const struct asks *asks;
	bool enforce = false;
	const struct cli_option options[] = {
		{ .name = "enforce", .flag = &enforce },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	if (optind < argc)
		return cli_wrong_usage(cmd, "setup takes no argument");
	if (geteuid() != 0) {
		cli_error("only root can set it up: run this as root");
		return SETUP_FAILED;
	}
	asks = asks_sshd(KV_CONFIG_PATH);
	/* enable --warn would let in the others, whom the guard refuses. */
	if (!asks->yes && configurations_name(KV_CONFIG_PATH)) {
		cli_error("keyveto is enabled here, but sshd does not say that "
			  "it asks about root; type keyveto status");
		return asks->known ? SETUP_DECIDE : SETUP_FAILED;
	}
	return asks->yes ? set_up_again(enforce) : set_up(enforce);
}

const struct cli_command cli_setup = {
	.name = "setup",
	.section = 8,
	.page = "enable",
	.synopsis = "[--enforce]",
	.help = "Fetch the free list, keep it current, and watch logins by it",
	.details = "  --enforce        refuse listed keys, not only log them\n",
	.run = run_setup,
};
