/* SPDX-License-Identifier: ISC */
/* keyveto status: checks everything that keeps listed keys out. */
#include <errno.h>
#include <string.h>

#include "base/color.h"
#include "command.h"
#include "doctor/doctor.h"

#define MAX_AGE_MAX 36500

static int
run_checks(const struct doctor_options *o,
    bool (*print)(const struct doctor *d))
{
	struct doctor d;
	int status = CLI_UNCHECKED;

	if (!doctor_run(&d, o))
		cli_error("%s", strerror(ENOMEM));
	else if (print(&d))
		status = doctor_exit_status(&d);
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
