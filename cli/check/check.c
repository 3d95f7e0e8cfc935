/* SPDX-License-Identifier: ISC */
/* keyveto check: which keys in these files are listed? */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check/parallel.h"
#include "command.h"
#include "output/progress.h"
#include "output/report.h"

#define JOBS_MAX 256

struct options {
	struct cli_judge_options judge;
	bool json, all, quiet;
	uint64_t jobs;
};

/* Returns 0, or -1 if the process is to exit with *statusp. */
static int
read_options(const struct cli_command *cmd, int argc, char **argv,
    struct options *o, int *statusp)
{
	enum { JSON = 1, ALL, QUIET, JOBS };
	static const struct option options[] = {
		{ "json", no_argument, NULL, JSON },
		{ "all", no_argument, NULL, ALL },
		{ "quiet", no_argument, NULL, QUIET },
		{ "jobs", required_argument, NULL, JOBS },
		CLI_JUDGE_LONGOPTS,
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	*o = (struct options){ .jobs = 1 };
	*statusp = CLI_UNCHECKED;
	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		switch (opt) {
		case JSON:
			o->json = true;
			break;
		case ALL:
			o->all = true;
			break;
		case QUIET:
			o->quiet = true;
			break;
		case JOBS:
			if (!cli_option_number("--jobs", JOBS_MAX, &o->jobs))
				return -1;
			break;
		case CLI_OPT_CONFIG:
		case CLI_OPT_FILTER:
			if (!cli_judge_option(&o->judge, opt, optarg))
				return -1;
			break;
		case CLI_OPT_HELP:
			*statusp = cli_help(cmd);
			return -1;
		default:
			return -1;
		}
	}
	return 0;
}

static int
run_check(const struct cli_command *cmd, int argc, char **argv)
{
	static char *standard_input[] = { "-", NULL };
	struct kv_judge judge;
	struct options o;
	struct report r;
	struct progress progress;
	uint64_t total = 0;
	char **paths;
	int status;

	if (read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	if (!cli_judge_open(&judge, &o.judge))
		return CLI_UNCHECKED;
	paths = optind < argc ? argv + optind : standard_input;
	r = (struct report){
		.judge = &judge,
		.json = o.json,
		.all = o.all,
		.quiet = o.quiet,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
	};
	for (char **path = paths; *path != NULL; path++)
		total += input_size(*path);
	progress_start(&progress, "checking", total);
	/* --quiet prints nothing but errors. */
	if (o.quiet)
		progress.shown = false;
	parallel_check(&r, paths, (size_t)o.jobs, &progress);
	progress_end(&progress);
	if (!o.quiet)
		report_summary(&r);
	kv_judge_close(&judge);
	if (!cli_stdout_ok())
		return CLI_UNCHECKED;
	return report_status(&r);
}

const struct cli_command cli_check = {
	.name = "check",
	.synopsis = "[--json] [--all] [--quiet] [--jobs N] [--config FILE] "
		    "[--filter FILE]... [FILE|DIRECTORY|-]...",
	.help = "Tell which keys in files, directories or standard input are "
		"listed",
	.details =
	    "  --json           one JSON object a line\n"
	    "  --all            every key with its verdict, not only listed "
	    "ones\n"
	    "  --quiet          print nothing but errors; the exit status "
	    "tells\n"
	    "  --jobs N         check with N threads (default 1)\n" CLI_JUDGE_HELP
	    "\nExit status: 0 nothing listed, 1 something listed, 2 nothing "
	    "listed but\nsomething could not be checked, or bad usage.\n",
	.run = run_check,
};
