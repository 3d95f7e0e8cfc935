/* SPDX-License-Identifier: ISC */
/* keyveto audit: which keys does this machine let in, and which are listed? */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "accounts/machine.h"
#include "audit/header.h"
#include "logs/login_logs.h"
#include "command.h"
#include "reading/chosen.h"
#include "working/weak.h"

#define TIMEOUT_MAX 3600

struct options {
	struct cli_judge_options judge;
	struct sshd sshd;
	const char **user;
	size_t n_users;
	uint64_t timeout;
	bool json, all, quiet;
	bool logins;
	const char **log; /* none: those of this machine */
	size_t n_logs;
};

struct audit {
	const struct options *o;
	const struct judging *judging;
	struct report report;
	struct machine machine;
	struct audit_table table;
	struct logins logins;
	struct login_logs logs;
};

/* Prints the first line of --json, if that was asked for. False after a message. */
static bool
print_header(const struct options *o, const struct judging *judging,
    int64_t now)
{
	const struct audit_header header = {
		.options = &o->judge,
		.judging = judging,
		.sshd = &o->sshd,
		.user = o->user,
		.n_users = o->n_users,
		.all = o->all,
		.now = now,
	};

	return !o->json || o->quiet || audit_header_print(&header);
}

static void
move_key(const struct weak_found *f, enum kv_verdict verdict, void *arg)
{
	audit_table_move(arg, f, verdict);
}

/* Tests the RSA keys that no list has. False after a message. */
static bool
find_weak(struct audit *a)
{
	return report_weak(&a->report, 0, !a->o->quiet, move_key, &a->table);
}

/* Tells when the keys came in. False after a message. */
static bool
tell_logins(struct audit *a)
{
	const struct options *o = a->o;

	if (!o->logins)
		return true;
	if (!login_logs_read(&a->logs, &a->logins, &a->report, o->log,
		o->n_logs))
		return false;
	if (!o->quiet && !logins_print(&a->logins, o->json))
		return cli_error("%s", strerror(errno));
	return true;
}

/* Is begin of struct machine. */
static bool
begin_audit(void *arg)
{
	struct audit *a = arg;
	const struct options *o = a->o;

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
	const struct options *o = a->o;

	if (o->quiet)
		return true;
	if (o->json)
		audit_table_print_json(&a->table);
	else
		audit_table_print(&a->table);
	return !o->json ||
	    audit_end_print(&a->report, a->machine.accounts.n, status, NULL);
}

static int
run_audit(const struct options *o, const struct judging *judging)
{
	struct audit a = {
		.o = o,
		.judging = judging,
		.report = {
			.json = o->json, .all = o->all,
			.quiet = o->quiet, .out = stdout, .err = stderr,
			.now = time(NULL), 
			.weak = weak_new(working_weak),
			.row = &a.table.n,
		},
		.logins = { .all = o->all },
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

	judging_report(&a.report, &judging->judge);
	if (o->logins) {
		a.report.judged = logins_on_key;
		a.report.judged_arg = &a.logins;
	}
	if (a.report.weak == NULL)
		cli_error("%s", strerror(ENOMEM));
	else if (machine_audit(&a.machine) && find_weak(&a) &&
	    tell_logins(&a)) {
		status = report_status(&a.report);
		if (!print_end(&a, status) || !cli_stdout_ok())
			status = CLI_UNCHECKED;
		if (!o->quiet)
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
    struct options *o)
{
	const struct cli_option options[] = {
		{ .name = "json", .flag = &o->json },
		{ .name = "all", .flag = &o->all },
		{ .name = "quiet", .flag = &o->quiet },
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
	    &o->judge);

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
print_unjudged(const struct options *o)
{
	const struct report none = { 0 };

	if (o->json && !o->quiet && print_header(o, NULL, time(NULL)))
		(void)audit_end_print(&none, 0, CLI_UNCHECKED,
		    "no key was judged: keyveto.conf, a filter or a list "
		    "cannot be read");
}

static int
run_command(const struct cli_command *cmd, int argc, char **argv)
{
	struct options o = {
		.sshd = { .path = SSHD_PATH },
		.timeout = MACHINE_TIMEOUT_DEFAULT,
	};
	struct judging judging;
	int status = CLI_UNCHECKED;

	o.user = calloc((size_t)argc, sizeof(*o.user));
	o.log = calloc((size_t)argc, sizeof(*o.log));
	if (o.user == NULL || o.log == NULL)
		cli_error("%s", strerror(errno));
	else if ((status = read_options(cmd, argc, argv, &o)) == -1) {
		status = CLI_UNCHECKED;
		if (chosen_open(&judging, &o.judge)) {
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
