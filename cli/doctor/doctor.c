/* SPDX-License-Identifier: ISC */
#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/color.h"
#include "base/room.h"

#define MAX_AGE_MAX 36500

/* Without it a check is not made. */
enum need { NOTHING, CONFIG, SSHD_ANSWER };

/* In the order of the output. */
static const struct {
	const char *name;
	void (*run)(struct doctor *d);
	enum need need;
} checks[] = {
	{ "config", doctor_config, NOTHING },
	{ "policy", doctor_policy, NOTHING },
	{ "exceptions", doctor_exceptions, CONFIG },
	{ "filter", doctor_filter, NOTHING },
	{ "filter-age", doctor_filter_age, NOTHING },
	{ "filter-rate", doctor_filter_rate, NOTHING },
	{ "list", doctor_list, NOTHING },
	{ "list-age", doctor_list_age, NOTHING },
	{ "update", doctor_update, CONFIG },
	{ "canaries", doctor_canaries, NOTHING },
	{ "sshd", doctor_sshd, NOTHING },
	{ "service", doctor_service, NOTHING },
	{ "guard", doctor_guard, SSHD_ANSWER },
	{ "guard-path", doctor_guard_path, SSHD_ANSWER },
	{ "guard-user", doctor_guard_user, SSHD_ANSWER },
	{ "match", doctor_match, SSHD_ANSWER },
	{ "user-ca", doctor_user_ca, SSHD_ANSWER },
	{ "hostbased", doctor_hostbased, SSHD_ANSWER },
	{ "tunnel", doctor_tunnel, SSHD_ANSWER },
	{ "pam", doctor_pam, NOTHING },
	{ "pam-control", doctor_pam_control, NOTHING },
	{ "pam-order", doctor_pam_order, NOTHING },
	{ "pam-module", doctor_pam_module, NOTHING },
	{ "syslog", doctor_syslog, NOTHING },
	{ "walls", doctor_walls, NOTHING },
};

void
doctor_add(struct doctor *d, enum doctor_status status, const char *remedy,
    const char *fmt, ...)
{
	struct doctor_finding f = { .check = d->check, .status = status };
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = vasprintf(&f.found, fmt, ap) != -1;
	va_end(ap);
	if (!ok)
		f.found = NULL;
	if (status != DOCTOR_OK && remedy != NULL)
		ok &= (f.remedy = strdup(remedy)) != NULL;
	if (ok && room_for_one(&d->finding, d->n, sizeof(f))) {
		d->finding[d->n++] = f;
		return;
	}
	d->out_of_memory = true;
	free(f.found);
	free(f.remedy);
}

void
doctor_add_refuses(struct doctor *d)
{
	if (d->n > 0)
		d->finding[d->n - 1].refuses = d->finding[d->n - 1].status ==
		    DOCTOR_BLIND;
}

void
doctor_add_unused(struct doctor *d, const char *found)
{
	const size_t n = d->n;

	doctor_add(d, DOCTOR_OK, NULL, "%s", found);
	if (d->n > n)
		d->finding[n].unused = true;
}

enum doctor_status
doctor_status(const struct doctor *d, const char *check)
{
	enum doctor_status worst = DOCTOR_OK;

	for (size_t i = 0; i < d->n; i++)
		if ((check == NULL ||
			strcmp(d->finding[i].check, check) == 0) &&
		    d->finding[i].status > worst)
			worst = d->finding[i].status;
	return worst;
}

const char *
doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = { "ok", "warning", "broken" };

	return names[doctor_status_number(status)];
}

int
doctor_status_number(enum doctor_status status)
{
	return status <= DOCTOR_WARNING ? (int)status :
	    status == DOCTOR_UNSEEN	? 1 :
					  2;
}

/* 2: logins get no verdict, or it could not be found out. */
static int
exit_status(const struct doctor *d)
{
	int status = 0;

	for (size_t i = 0; i < d->n; i++) {
		const enum doctor_status is = d->finding[i].status;

		if (is == DOCTOR_UNSEEN || is == DOCTOR_BLIND)
			return 2;
		status |= is != DOCTOR_OK;
	}
	return status;
}

static void
run_check(struct doctor *d, size_t i)
{
	d->check = checks[i].name;
	if (checks[i].need == SSHD_ANSWER && d->settings == NULL)
		doctor_add(d, DOCTOR_UNSEEN, NULL,
		    "not looked at, since sshd gave no answer");
	else if (checks[i].need == CONFIG && d->judging.judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else
		checks[i].run(d);
}

bool
doctor_run(struct doctor *d, const struct doctor_options *o)
{
	*d = (struct doctor){ .o = o, .now = time(NULL) };
	if (doctor_read_filters(d) && doctor_read_lists(d)) {
		doctor_read_sshd(d);
		doctor_read_pam(d);
		if (d->settings != NULL)
			doctor_read_ways(d);
		for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
			run_check(d, i);
	} else
		d->out_of_memory = true;
	return !d->out_of_memory;
}

void
doctor_free(struct doctor *d)
{
	char why[WALL_WHY_BYTES];

	for (size_t i = 0; i < d->n; i++) {
		free(d->finding[i].found);
		free(d->finding[i].remedy);
	}
	free(d->finding);
	free(d->facts);
	free(d->has_facts);
	free(d->list);
	(void)judging_close(&d->judging, why);
	free(d->dump);
	sshd_settings_free(d->settings);
	sshd_overview_free(&d->overview);
	for (size_t i = 0; i < d->n_groups; i++)
		free(d->group[i].account);
	free(d->group);
	for (size_t i = 0; i < d->n_guards; i++) {
		free(d->guard[i].command);
		free(d->guard[i].user);
	}
	free(d->guard);
	for (size_t i = 0; i < d->n_confs; i++)
		free(d->conf[i].path);
	free(d->conf);
	accounts_free(&d->accounts);
	pam_stack_free(&d->pam);
}

static int
run_checks(const struct doctor_options *o,
    bool (*print)(const struct doctor *d))
{
	struct doctor d;
	int status = CLI_UNCHECKED;

	if (!doctor_run(&d, o))
		cli_error("out of memory");
	else if (print(&d))
		status = exit_status(&d);
	doctor_free(&d);
	return status;
}

static int
run_doctor(const struct cli_command *cmd, int argc, char **argv)
{
	struct doctor_options o = {
		.sshd = { .path = SSHD_PATH },
		.max_age = DOCTOR_MAX_AGE_DEFAULT,
		.list_max_age = DOCTOR_LIST_MAX_AGE_DEFAULT,
	};
	bool json = false, prometheus = false;
	uint64_t days = UINT64_MAX;
	const char *color = NULL;
	const struct cli_option options[] = {
		{ .name = "json", .flag = &json },
		{ .name = "prometheus", .flag = &prometheus },
		{ .name = "all", .flag = &o.all },
		{ .name = "color", .text = &color },
		{ .name = "canary", .text = &o.canary },
		{ .name = "max-age", .number = &days, .max = MAX_AGE_MAX },
		{ .name = "sshd", .text = &o.sshd.path, .path = true },
		{ .name = "sshd-config", .text = &o.sshd.config },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, &o.judge);

	if (status != -1)
		return status;
	if (days != UINT64_MAX)
		o.max_age = o.list_max_age = days;
	if (!color_choose(color))
		return cli_usage_error(cmd);
	if (optind != argc)
		cli_error("status takes no argument %s", argv[optind]);
	else if (json && prometheus)
		cli_error("give one of --json and --prometheus");
	else
		return run_checks(&o,
		    json	   ? doctor_print_json :
			prometheus ? doctor_print_prometheus :
				     doctor_print_text);
	return cli_usage_error(cmd);
}

const struct cli_command cli_status = {
	.name = "status",
	.section = 8,
	.synopsis = "[--all] [--color WHEN] [--json] [--prometheus] "
		    "[--canary FILE] "
		    "[--max-age DAYS] [--sshd PATH] [--sshd-config FILE] "
		    "[--config FILE] [--filter FILE]... [--blocklist FILE]...",
	.help = "Tell whether all is in place that keeps listed keys out",
	.details =
	    "  --all            what is well, too\n" COLOR_HELP
	    "  --json           one JSON object: status, checks, filters, "
	    "lists\n"
	    "  --prometheus     metrics for node_exporter's textfile "
	    "collector\n"
	    "  --canary FILE    keys that must be listed (default "
	    "" DOCTOR_CANARY_PATH ")\n"
	    "  --max-age DAYS   warn of older ones (default: filters 30, lists "
	    "120; 0: never)\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --sshd-config FILE the file that sshd is started with "
	    "(-f)\n" CLI_JUDGE_HELP,
	.run = run_doctor,
};
