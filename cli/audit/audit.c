/* SPDX-License-Identifier: ISC */
/* keyveto audit: which keys does this machine let in, and which are listed? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accounts/machine.h"
#include "audit/header.h"
#include "logs/login_logs.h"
#include "command.h"
#include "reading/chosen.h"
#include "upkeep/own_list.h"
#include "working/weak.h"

#define TIMEOUT_MAX 3600

struct audit {
	const struct audit_options *o;
	const struct judging *judging;
	struct report report;
	struct machine machine;
	struct audit_table table;
	struct logins logins;
	struct login_logs logs;
};

/* Prints the first line of --json, if that was asked for. False after a message. */
static bool
print_header(const struct audit_options *o, const struct judging *judging,
    int64_t now)
{
	return !o->report.json || o->report.quiet ||
	    audit_header_print(o, judging, now);
}

/* Tells when the keys came in. False after a message. */
static bool
tell_logins(struct audit *a)
{
	const struct audit_options *o = a->o;

	if (!o->logins)
		return true;
	if (!login_logs_read(&a->logs, &a->logins, &a->report, o->log,
		o->n_logs))
		return false;
	if (!o->report.quiet && !logins_print(&a->logins, o->report.json))
		return cli_error("%s", strerror(errno));
	return true;
}

/* Is begin of struct machine. */
static bool
begin_audit(void *arg)
{
	struct audit *a = arg;
	const struct audit_options *o = a->o;

	if (!print_header(o, a->judging, a->report.now))
		return false;
	if (o->logins)
		logins_add_denied(&a->logins, &a->judging->judge.config,
		    a->report.now);
	return true;
}

/* Prints what follows the keys and their logins. False after a message. */
static bool
print_end(const struct audit *a, int status)
{
	const struct audit_options *o = a->o;

	if (o->report.quiet)
		return true;
	if (o->report.json)
		audit_table_print_json(&a->table);
	else
		audit_table_print(&a->table);
	return !o->report.json ||
	    audit_end_print(&a->report, a->machine.accounts.n, status, NULL);
}

static int
run_audit(const struct audit_options *o, const struct judging *judging)
{
	struct audit a = {
		.o = o,
		.judging = judging,
		.logins = {
			.all = o->report.all,
			.looks_for_open = !o->report.quiet && geteuid() == 0,
		},
		.machine = {
			.sshd = &o->sshd,
			.user = o->user,
			.n_users = o->n_users,
			.timeout = (unsigned int)o->timeout,
			.report = &a.report,
			.table = &a.table,
			.begin = begin_audit,
			.arg = &a,
		},
	};
	int status = CLI_UNCHECKED;

	report_init(&a.report, &judging->judge, &o->report);
	judging_report(&a.report, &judging->judge);
	a.report.weak = weak_new(working_weak);
	a.report.row = &a.table.n;
	if (o->logins) {
		a.report.judged = logins_on_key;
		a.report.judged_arg = &a.logins;
	}
	if (a.report.weak == NULL)
		cli_error("%s", strerror(ENOMEM));
	else if (machine_audit(&a.machine) &&
	    report_weak(&a.report, 0, !o->report.quiet, audit_table_move,
		&a.table) &&
	    tell_logins(&a)) {
		status = report_status(&a.report);
		if (!print_end(&a, status) || !cli_stdout_ok())
			status = CLI_UNCHECKED;
		if (!o->report.quiet)
			report_summary(&a.report);
	}
	weak_free(a.report.weak);
	logins_free(&a.logins);
	login_logs_free(&a.logs);
	audit_table_free(&a.table);
	machine_free(&a.machine);
	return status;
}

/* Returns -1, or the exit status. */
static int
read_options(const struct cli_command *cmd, int argc, char **argv,
    struct audit_options *o)
{
	const struct cli_option options[] = {
		REPORT_OPTIONS(o->report),
		{ .name = "user", .text = o->user, .n = &o->n_users },
		{ .name = "timeout",
		    .number = &o->timeout,
		    .min = 1,
		    .max = TIMEOUT_MAX },
		{ .name = "sshd", .text = &o->sshd.path, .path = true },
		{ .name = "sshd-config", .text = &o->sshd.config },
		{ .name = "logins",
		    .flag = &o->logins,
		    .text = o->log,
		    .n = &o->n_logs },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options,
	    &o->report.judge);

	if (status != -1)
		return status;
	if (!o->logins && optind < argc)
		cli_error("audit takes no argument %s: accounts are named with "
			  "--user",
		    argv[optind]);
	else {
		/* --logins FILE, as --logins=FILE. */
		while (optind < argc)
			o->log[o->n_logs++] = argv[optind++];
		return -1;
	}
	return cli_usage_error(cmd);
}

/*
 * The judge could not be opened. Whoever joins the audits of many hosts learns
 * that, too, and by doctor's findings why.
 */
static void
print_unjudged(const struct audit_options *o)
{
	const struct report none = { 0 };

	if (o->report.json && !o->report.quiet &&
	    print_header(o, NULL, time(NULL)))
		(void)audit_end_print(&none, 0, CLI_UNCHECKED,
		    "no key was judged: keyveto.conf, a filter or a list "
		    "cannot be read");
}

static int
run_command(const struct cli_command *cmd, int argc, char **argv)
{
	struct audit_options o = {
		.sshd = { .path = SSHD_PATH },
		.timeout = MACHINE_TIMEOUT_DEFAULT,
	};
	struct cli_judge_options files;
	struct judging judging;
	int status = CLI_UNCHECKED;

	o.user = calloc((size_t)argc, sizeof(*o.user));
	o.log = calloc((size_t)argc, sizeof(*o.log));
	if (o.user == NULL || o.log == NULL)
		cli_error("%s", strerror(errno));
	else if ((status = read_options(cmd, argc, argv, &o)) == -1) {
		status = CLI_UNCHECKED;
		/* Doctor's findings are of what logins consult. */
		files = o.report.judge;
		if (own_list_add(&files,
			OWN_LIST_OF_LOGINS |
			    (o.report.quiet ? OWN_LIST_QUIETLY : 0)) &&
		    chosen_open(&judging, &files)) {
			status = run_audit(&o, &judging);
			if (!chosen_close(&judging))
				status = CLI_UNCHECKED;
		} else
			print_unjudged(&o);
	}
	free(o.user);
	free(o.log);
	return status;
}

const struct cli_command cli_audit = {
	.name = "audit",
	.section = 8,
	.synopsis = "[--user NAME]... [--json] [--all] [--quiet] "
		    "[--logins [FILE | journal]...] "
		    "[--timeout S] "
		    "[--sshd PATH] [--sshd-config FILE] [--config FILE] "
		    "[--filter FILE]... [--blocklist FILE]...",
	.help =
	    "Tell which keys of this machine, accepted or its own, are listed",
	.details =
	    "  --user NAME      only this account, and no host keys; may "
	    "repeat\n" REPORT_HELP
	    "  --logins [FILE | journal]... tell when each listed key last "
	    "came in\n"
	    "  --timeout S      seconds that an account's files may take "
	    "(default 30)\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --sshd-config FILE with this configuration (default: its "
	    "own)\n" CLI_JUDGE_HELP REPORT_STATUS_HELP,
	.run = run_command,
};
