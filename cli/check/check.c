/* SPDX-License-Identifier: ISC */
/* keyveto check: which keys in these files are listed? */
#include <errno.h>
#include <string.h>

#include "command.h"
#include "reading/reading.h"

/* Threads wait for the disk: there may be more than processors. */
#define JOBS_MAX 256

static int
run_check(const struct cli_command *cmd, int argc, char **argv)
{
	static char *standard_input[] = { "-", NULL };
	struct report_options o = { 0 };
	struct opened_files *files;
	struct kv_judge judge;
	struct report r;
	struct progress progress;
	uint64_t total = 0, jobs = 1;
	char **paths;
	bool weak = false, partly, ok;
	const struct cli_option options[] = {
		{ .name = "jobs", .number = &jobs, .min = 1, .max = JOBS_MAX },
		{ .name = "weak", .flag = &weak },
		REPORT_OPTIONS(o),
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, &o.judge);

	if (status != -1)
		return status;
	cli_judge_choose_config(&o.judge);
	if ((files = opened_files_new(o.judge.config)) == NULL) {
		cli_error("%s", strerror(ENOMEM));
		return CLI_UNCHECKED;
	}
	o.judge.opened = opened_files_add;
	o.judge.opened_arg = files;
	if (!cli_judge_open_partly(&judge, &o.judge, &partly)) {
		opened_files_free(files);
		return CLI_UNCHECKED;
	}
	paths = optind < argc ? argv + optind : standard_input;
	report_init(&r, &judge, &o);
	r.partly = partly;
	for (char **path = paths; *path != NULL; path++)
		total += input_size(*path);
	progress_start(&progress, "checking", total);
	/* --quiet prints nothing but errors. */
	if (o.quiet)
		progress.shown = false;
	ok = reading_run(&r,
	    &(struct reading_options){
		.judge = &o.judge,
		.files = files,
		.weak = weak,
		.threads = (size_t)jobs,
	    },
	    paths, &progress);
	progress_clear(&progress);
	/* Without the reader's last words the totals are none. */
	if (ok && !o.quiet)
		report_summary(&r);
	opened_files_free(files);
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
	    REPORT_STATUS_HELP,
	.run = run_check,
};
