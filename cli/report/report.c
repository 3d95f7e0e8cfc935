/* SPDX-License-Identifier: ISC */
/* keyveto report: what the audits of many hosts say together. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"
#include "doctor/doctor.h"
#include "host/files.h"
#include "host/replace.h"
#include "report/forms.h"
#include "report/intake.h"

#define MAX_AGE_MAX 36500

struct options {
	const char *html, *sarif, *hosts, *owners;
	const char **since; /* n_since of them */
	size_t n_since;
	bool csv, all;
	uint64_t max_age, list_max_age;
};

/* Writes the file whole, or leaves the old one as it is. */
static bool
write_file(struct fleet *f, const struct options *o, const char *path,
    bool (*form)(struct fleet *f, bool all, FILE *out))
{
	struct replace r;
	FILE *out = NULL;
	bool ok = replace_open(&r, path) && replace_begin(&r), bad;
	int fd;

	if (ok) {
		fd = dup(r.fd);
		out = fd != -1 ? fdopen(fd, "w") : NULL;
		if (out == NULL) {
			ok = cli_failed(path, "cannot be written");
			io_close(fd);
		}
	}
	if (out != NULL) {
		ok = form(f, o->all, out);
		bad = ferror(out) != 0;
		if (fclose(out) != 0 || bad)
			ok = cli_failed(path, "cannot be written");
	}
	ok = ok && replace_commit(&r);
	replace_close(&r);
	return ok;
}

static bool
print_forms(struct fleet *f, const struct options *o,
    const struct fleet_totals *t)
{
	if (o->html != NULL && !write_file(f, o, o->html, report_html))
		return false;
	if (o->sarif != NULL && !write_file(f, o, o->sarif, report_sarif))
		return false;
	if (o->csv)
		return report_csv(f);
	return o->html != NULL || o->sarif != NULL || report_text(f, t);
}

static int
status_of(const struct fleet_totals *t)
{
	if (t->listed_places > 0)
		return CLI_LISTED;
	return t->unanswered + t->missing + t->cut + t->twice + t->unchecked +
		    t->old_unread >
		0 ?
	    CLI_UNCHECKED :
	    CLI_NOTHING_LISTED;
}

static void
print_summary(const struct fleet_totals *t)
{
	fprintf(stderr,
	    "keyveto: %" PRId64 " %s: %" PRId64 " listed %s in %" PRId64
	    " %s of %" PRId64 " %s, %" PRId64 " without a whole audit\n",
	    t->hosts, cli_plural((uint64_t)t->hosts, "host", "hosts"),
	    t->listed_keys, cli_plural((uint64_t)t->listed_keys, "key", "keys"),
	    t->listed_places,
	    cli_plural((uint64_t)t->listed_places, "place", "places"),
	    t->listed_hosts,
	    cli_plural((uint64_t)t->listed_hosts, "host", "hosts"),
	    t->unanswered + t->missing + t->cut);
}

static int
report_audits(const struct options *o, char **path, int n)
{
	struct fleet f = {
		.now = time(NULL),
		.max_age = o->max_age,
		.list_max_age = o->list_max_age,
	};
	struct fleet_totals totals = { 0 };
	int status = CLI_UNCHECKED;
	bool ok;

	if (o->html != NULL)
		files_promise(o->html);
	if (o->sarif != NULL)
		files_promise(o->sarif);
	ok = fleet_open(&f) &&
	    (o->hosts == NULL || intake_hosts(&f, o->hosts)) &&
	    (o->owners == NULL || intake_owners(&f, o->owners));

	for (size_t i = 0; ok && i < o->n_since; i++)
		ok = intake_audits(&f, o->since[i]);
	ok = ok && (o->n_since == 0 || fleet_keep_old(&f));
	for (int i = 0; ok && i < n; i++)
		ok = intake_audit(&f, path[i]);
	if (ok && fleet_join(&f) && fleet_count(&f, &totals) &&
	    print_forms(&f, o, &totals)) {
		status = status_of(&totals);
		if (f.since && totals.twice > 0)
			cli_error("note: several new audits are of hosts of "
				  "the same name; each older audit needs its "
				  "own --since");
		if (totals.old_names > 0)
			cli_error("note: older audits in files of different "
				  "names are of hosts of the same name; such a "
				  "host is known again only by the name of its "
				  "file");
		print_summary(&totals);
	}
	fleet_close(&f);
	return status;
}

/* Returns -1, or the exit status. */
static int
read_options(const struct cli_command *cmd, int argc, char **argv,
    struct options *o)
{
	const char *max_age = NULL;
	const struct cli_option options[] = {
		{ .name = "html", .text = &o->html },
		{ .name = "csv", .flag = &o->csv },
		{ .name = "sarif", .text = &o->sarif },
		{ .name = "hosts", .text = &o->hosts },
		{ .name = "owners", .text = &o->owners },
		{ .name = "since", .text = o->since, .n = &o->n_since },
		{ .name = "max-age", .text = &max_age },
		{ .name = "all", .flag = &o->all },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	if (max_age != NULL) {
		if (!cli_read_number(max_age, 0, MAX_AGE_MAX, &o->max_age)) {
			cli_error("--max-age takes a number of days from 0 to "
				  "%d, not %s",
			    MAX_AGE_MAX, max_age);
			return CLI_UNCHECKED;
		}
		o->list_max_age = o->max_age;
	}
	if (optind < argc)
		return -1;
	return cli_wrong_usage(cmd,
	    "give the audits of hosts: what keyveto audit --json prints");
}

static int
run_report(const struct cli_command *cmd, int argc, char **argv)
{
	struct options o = {
		.max_age = DOCTOR_MAX_AGE_DEFAULT,
		.list_max_age = DOCTOR_LIST_MAX_AGE_DEFAULT,
		.since = calloc((size_t)argc, sizeof(*o.since)),
	};
	int status = CLI_UNCHECKED;

	if (o.since == NULL)
		cli_error("%s", strerror(errno));
	else if ((status = read_options(cmd, argc, argv, &o)) == -1)
		status = report_audits(&o, argv + optind, argc - optind);
	free(o.since);
	return status;
}

const struct cli_command cli_report = {
	.name = "report",
	.help = CLI_REPORT_HELP,
	.synopsis = "[--html FILE] [--csv] [--sarif FILE] [--all] "
		    "[--since OLD]... [--owners FILE] [--hosts FILE] "
		    "[--max-age DAYS] AUDIT...",
	.details =
	    "  --html FILE      write a page that needs no network\n"
	    "  --csv            print a row for each finding instead of text\n"
	    "  --sarif FILE     write SARIF 2.1.0\n"
	    "  --all            the page also has clean keys that only one "
	    "account has\n"
	    "  --since OLD      what changed since OLD, an audit or folder; "
	    "may repeat\n"
	    "  --owners FILE    whose keys are whose: a line for each key, "
	    "comment or account\n"
	    "  --hosts FILE     names, one a line, of the hosts that should "
	    "have an audit\n"
	    "  --max-age DAYS   tell of older ones (default: audits 30, lists "
	    "120; 0: never)\n",
	.run = run_report,
};
