/* SPDX-License-Identifier: ISC */
/* keyveto check: which keys in these files are listed? */
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "check/pool.h"
#include "command.h"

static int
run_check(const struct cli_command *cmd, int argc, char **argv)
{
	enum { JOBS = 1, WEAK };
	static const struct option options[] = {
		{ "jobs", required_argument, NULL, JOBS },
		{ "weak", no_argument, NULL, WEAK },
		REPORT_LONGOPTS,
		{ NULL, 0, NULL, 0 },
	};
	static char *standard_input[] = { "-", NULL };
	struct report_options o = { 0 };
	struct kv_judge judge;
	struct report r;
	struct progress progress;
	uint64_t total = 0, jobs = 1;
	char **paths;
	bool weak = false, partly, ok;
	int opt, status;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == WEAK) {
			weak = true;
		} else if (opt != JOBS) {
			if (!report_option(cmd, opt, &o, &status))
				return status;
		} else if (!cli_option_number("--jobs", POOL_JOBS_MAX, &jobs)) {
			return CLI_UNCHECKED;
		}
	}
	if (!cli_judge_open_partly(&judge, &o.judge, &partly))
		return CLI_UNCHECKED;
	paths = optind < argc ? argv + optind : standard_input;
	report_init(&r, &judge, &o);
	r.partly = partly;
	if (weak && (r.weak = weak_new()) == NULL) {
		cli_error("%s", strerror(ENOMEM));
		kv_judge_close(&judge);
		return CLI_UNCHECKED;
	}
	for (char **path = paths; *path != NULL; path++)
		total += input_size(*path);
	progress_start(&progress, "checking", total);
	/* --quiet prints nothing but errors. */
	if (o.quiet)
		progress.shown = false;
	pool_check(&r, &judge, paths, (size_t)jobs, &progress);
	progress_clear(&progress);
	ok = !weak || report_weak(&r, (size_t)jobs, !o.quiet, NULL, NULL);
	if (!o.quiet)
		report_summary(&r);
	kv_judge_close(&judge);
	if (!cli_stdout_ok() || !ok)
		return CLI_UNCHECKED;
	return report_status(&r);
}

const struct cli_command cli_check = {
	.name = "check",
	.synopsis =
	    "[--json] [--all] [--quiet] [--weak] [--jobs N] [--config FILE] "
	    "[--filter FILE]... [--blocklist FILE]... [FILE|DIRECTORY|-]...",
	.help = "Tell which keys in files, directories or standard input are "
		"listed",
	.details = REPORT_HELP
	"  --weak           RSA keys that anybody factors, too\n"
	"  --jobs N         check with N threads (default 1)\n" CLI_JUDGE_HELP
	"\nExit status: 0 nothing listed, 1 something listed, 2 nothing "
	"listed but\nsomething could not be checked, or bad usage.\n",
	.run = run_check,
};
