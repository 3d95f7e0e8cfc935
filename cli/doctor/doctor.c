/* SPDX-License-Identifier: ISC */
/* keyveto doctor: checks everything that keeps listed keys out. */
#include "doctor/doctor.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
	struct doctor_finding *grown;
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = vasprintf(&f.found, fmt, ap) != -1;
	va_end(ap);
	if (!ok)
		f.found = NULL;
	if (status != DOCTOR_OK && remedy != NULL)
		ok &= (f.remedy = strdup(remedy)) != NULL;
	grown = realloc(d->finding, (d->n + 1) * sizeof(f));
	if (grown != NULL)
		d->finding = grown;
	if (ok && grown != NULL) {
		d->finding[d->n++] = f;
		return;
	}
	d->out_of_memory = true;
	free(f.found);
	free(f.remedy);
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

	return names[status];
}

static void
run_check(struct doctor *d, size_t i)
{
	d->check = checks[i].name;
	if (checks[i].need == SSHD_ANSWER && d->settings == NULL)
		doctor_add(d, DOCTOR_WARNING, NULL,
		    "not looked at, since sshd gave no answer");
	else if (checks[i].need == CONFIG && d->judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else
		checks[i].run(d);
}

bool
doctor_run(struct doctor *d, const struct doctor_options *o)
{
	*d = (struct doctor){ .o = o, .now = time(NULL) };
	if (doctor_learn_filters(d) && doctor_learn_lists(d)) {
		doctor_learn_sshd(d);
		doctor_learn_pam(d);
		for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
			run_check(d, i);
	} else
		d->out_of_memory = true;
	return !d->out_of_memory;
}

void
doctor_free(struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->finding[i].found);
		free(d->finding[i].remedy);
	}
	free(d->finding);
	free(d->facts);
	free(d->learnt);
	free(d->list);
	kv_judge_close(&d->judge);
	sshd_settings_free(d->settings);
	pam_stack_free(&d->pam);
}

static int
run_checks(const struct doctor_options *o,
    bool (*print)(const struct doctor *d))
{
	struct doctor d;
	int status = DOCTOR_BROKEN;

	if (!doctor_run(&d, o))
		cli_error("%s", strerror(ENOMEM));
	else if (print(&d))
		status = (int)doctor_status(&d, NULL);
	doctor_free(&d);
	return status;
}

enum { JSON = 1, PROMETHEUS, CANARY, MAX_AGE, SSHD, SSHD_CONFIG };

static int
run_doctor(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "prometheus", no_argument, NULL, PROMETHEUS },
		{ "canary", required_argument, NULL, CANARY },
		{ "max-age", required_argument, NULL, MAX_AGE },
		{ "sshd", required_argument, NULL, SSHD },
		{ "sshd-config", required_argument, NULL, SSHD_CONFIG },
		CLI_JUDGE_LONGOPTS,
		{ NULL, 0, NULL, 0 },
	};
	struct doctor_options o = {
		.sshd = { .path = SSHD_PATH },
		.max_age = DOCTOR_MAX_AGE_DEFAULT,
		.list_max_age = DOCTOR_LIST_MAX_AGE_DEFAULT,
	};
	bool json = false, prometheus = false, ok = true;
	int opt;

	while (ok && (opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt == JSON)
			json = true;
		else if (opt == PROMETHEUS)
			prometheus = true;
		else if (opt == CANARY)
			o.canary = optarg;
		else if (opt == SSHD)
			ok = cli_option_path("--sshd", &o.sshd.path);
		else if (opt == SSHD_CONFIG)
			o.sshd.config = optarg;
		else if (opt != MAX_AGE)
			ok = opt != '?' &&
			    cli_judge_option(&o.judge, opt, optarg);
		else if ((ok = cli_read_number(optarg, 0, MAX_AGE_MAX,
			      &o.max_age)))
			o.list_max_age = o.max_age;
		else
			cli_error("--max-age takes a number of days from 0 to "
				  "%d, not %s",
			    MAX_AGE_MAX, optarg);
	}
	if (!ok)
		return CLI_UNCHECKED;
	if (optind != argc)
		cli_error("doctor takes no argument %s", argv[optind]);
	else if (json && prometheus)
		cli_error("give one of --json and --prometheus");
	else
		return run_checks(&o,
		    json	   ? doctor_print_json :
			prometheus ? doctor_print_prometheus :
				     doctor_print_text);
	return cli_usage_error(cmd);
}

const struct cli_command cli_doctor = {
	.name = "doctor",
	.synopsis = "[--json] [--prometheus] [--canary FILE] "
		    "[--max-age DAYS] [--sshd PATH] [--sshd-config FILE] "
		    "[--config FILE] [--filter FILE]... [--blocklist FILE]...",
	.help = "Tell whether all is in place that keeps listed keys out",
	.details =
	    "As root. Checks keyveto.conf, filters, the guard, PAM and sshd, "
	    "and the ways in\nthat bypass them. Changes nothing.\n\n"
	    "  --json           one JSON object: status, checks, filters, "
	    "lists\n"
	    "  --prometheus     metrics for node_exporter's textfile "
	    "collector\n"
	    "  --canary FILE    keys that filters or lists must have\n"
	    "                   (default " DOCTOR_CANARY_PATH
	    ", if there is one)\n"
	    "  --max-age DAYS   warn of a filter or a list that is older "
	    "(default 30 for\n"
	    "                   filters, 120 for lists; 0: never)\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --sshd-config FILE\n"
	    "                   the file that sshd is started with (-f)\n" CLI_JUDGE_HELP
	    "\nExit status: 0 all is well, 1 a warning, 2 something is "
	    "broken, or bad usage.\n",
	.run = run_doctor,
};
