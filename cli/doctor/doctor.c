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

#define MAX_AGE_DEFAULT 30
#define MAX_AGE_MAX 36500

/* In the order of the output. */
static const struct {
	const char *name;
	void (*run)(struct doctor *d, const char *check);
} checks[] = {
	{ "config", doctor_config },
	{ "policy", doctor_policy },
	{ "exceptions", doctor_exceptions },
	{ "filter", doctor_filter },
	{ "filter-age", doctor_filter_age },
	{ "filter-rate", doctor_filter_rate },
	{ "canaries", doctor_canaries },
	{ "sshd", doctor_sshd },
	{ "service", doctor_service },
	{ "guard", doctor_guard },
	{ "guard-path", doctor_guard_path },
	{ "guard-user", doctor_guard_user },
	{ "match", doctor_match },
	{ "user-ca", doctor_user_ca },
	{ "hostbased", doctor_hostbased },
	{ "tunnel", doctor_tunnel },
	{ "pam", doctor_pam },
	{ "pam-control", doctor_pam_control },
	{ "pam-order", doctor_pam_order },
	{ "pam-module", doctor_pam_module },
	{ "syslog", doctor_syslog },
};

__attribute__((format(printf, 5, 0))) static void
add_finding(struct doctor *d, const char *check, enum doctor_status status,
    const char *remedy, const char *fmt, va_list ap)
{
	struct doctor_finding f = { .check = check, .status = status };
	struct doctor_finding *grown;

	if (vasprintf(&f.found, fmt, ap) == -1)
		f.found = NULL;
	if (remedy != NULL)
		f.remedy = strdup(remedy);
	grown = realloc(d->finding, (d->n + 1) * sizeof(f));
	if (grown != NULL)
		d->finding = grown;
	if (grown == NULL || f.found == NULL ||
	    (remedy != NULL && f.remedy == NULL)) {
		d->out_of_memory = true;
		free(f.found);
		free(f.remedy);
		return;
	}
	d->finding[d->n++] = f;
}

void
doctor_ok(struct doctor *d, const char *check, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_finding(d, check, DOCTOR_OK, NULL, fmt, ap);
	va_end(ap);
}

void
doctor_warning(struct doctor *d, const char *check, const char *remedy,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_finding(d, check, DOCTOR_WARNING, remedy, fmt, ap);
	va_end(ap);
}

void
doctor_broken(struct doctor *d, const char *check, const char *remedy,
    const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_finding(d, check, DOCTOR_BROKEN, remedy, fmt, ap);
	va_end(ap);
}

void
doctor_say(struct doctor *d, const char *check, enum doctor_status status,
    const char *remedy, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_finding(d, check, status, status == DOCTOR_OK ? NULL : remedy, fmt,
	    ap);
	va_end(ap);
}

enum doctor_status
doctor_status(const struct doctor *d, const char *check)
{
	enum doctor_status worst = DOCTOR_OK;

	for (size_t i = 0; i < d->n; i++)
		if ((check == NULL || d->finding[i].check == check) &&
		    d->finding[i].status > worst)
			worst = d->finding[i].status;
	return worst;
}

const char *
doctor_status_name(enum doctor_status status)
{
	switch (status) {
	case DOCTOR_OK:
		return "ok";
	case DOCTOR_WARNING:
		return "warning";
	case DOCTOR_BROKEN:
		break;
	}
	return "broken";
}

static void
doctor_free(struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->finding[i].found);
		free(d->finding[i].remedy);
	}
	free(d->finding);
	free(d->facts);
	free(d->learnt);
	kv_judge_close(&d->judge);
	sshd_settings_free(d->settings);
	pam_stack_free(&d->pam);
}

static int
run_checks(const struct doctor_options *o,
    bool (*print)(const struct doctor *d))
{
	struct doctor d = { .o = o, .now = time(NULL) };
	int status = DOCTOR_BROKEN;

	if (doctor_learn_filters(&d)) {
		doctor_learn_sshd(&d);
		doctor_learn_pam(&d);
		for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
			checks[i].run(&d, checks[i].name);
	} else
		d.out_of_memory = true;
	if (d.out_of_memory)
		cli_error("%s", strerror(ENOMEM));
	else if (print(&d))
		status = (int)doctor_status(&d, NULL);
	doctor_free(&d);
	return status;
}

enum { JSON = 1, PROMETHEUS, CANARY, MAX_AGE, SSHD, SSHD_CONFIG };

struct output_form {
	bool json, prometheus;
};

/* False after a message. */
static bool
read_option(struct doctor_options *o, struct output_form *form, int opt)
{
	switch (opt) {
	case JSON:
		form->json = true;
		return true;
	case PROMETHEUS:
		form->prometheus = true;
		return true;
	case CANARY:
		o->canary = optarg;
		return true;
	case MAX_AGE:
		if (cli_read_number(optarg, 0, MAX_AGE_MAX, &o->max_age))
			return true;
		cli_error("--max-age takes a number of days from 0 to %d, not "
			  "%s",
		    MAX_AGE_MAX, optarg);
		return false;
	case SSHD:
		return cli_option_path("--sshd", &o->sshd.path);
	case SSHD_CONFIG:
		o->sshd.config = optarg;
		return true;
	}
	return cli_judge_option(&o->judge, opt, optarg);
}

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
		.max_age = MAX_AGE_DEFAULT,
	};
	struct output_form form = { false, false };
	int opt;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt == '?' || !read_option(&o, &form, opt))
			return CLI_UNCHECKED;
	}
	if (optind != argc) {
		cli_error("doctor takes no argument %s", argv[optind]);
		return cli_usage_error(cmd);
	}
	if (form.json && form.prometheus) {
		cli_error("give one of --json and --prometheus");
		return cli_usage_error(cmd);
	}
	if (form.json)
		return run_checks(&o, doctor_print_json);
	if (form.prometheus)
		return run_checks(&o, doctor_print_prometheus);
	return run_checks(&o, doctor_print_text);
}

const struct cli_command cli_doctor = {
	.name = "doctor",
	.synopsis = "[--json] [--prometheus] [--canary FILE] "
		    "[--max-age DAYS] [--sshd PATH] [--sshd-config FILE] "
		    "[--config FILE] [--filter FILE]...",
	.help = "Tell whether all is in place that keeps listed keys out",
	.details =
	    "As root. Checks keyveto.conf, filters, the guard, PAM and sshd, "
	    "and the ways in\nthat bypass them. Changes nothing.\n\n"
	    "  --json           one JSON object: status, checks, filters\n"
	    "  --prometheus     metrics for node_exporter's textfile "
	    "collector\n"
	    "  --canary FILE    keys that the filters must list (default " DOCTOR_CANARY_PATH
	    ",\n"
	    "                   if there is one)\n"
	    "  --max-age DAYS   warn of a filter that is older (default 30; "
	    "0: never)\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --sshd-config FILE\n"
	    "                   the file that sshd is started with (-f)\n" CLI_JUDGE_HELP
	    "\nExit status: 0 all is well, 1 a warning, 2 something is "
	    "broken, or bad usage.\n",
	.run = run_doctor,
};
