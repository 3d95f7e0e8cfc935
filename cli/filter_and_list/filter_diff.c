/* SPDX-License-Identifier: ISC */
/* keyveto filter diff: the bits that were set between two revisions. */
#include "filter_and_list/delta_run.h"
#include "filter_and_list/filter.h"
#include "sets/filter_file.h"

static bool
make_delta(const char *old_path, const char *new_path, const char *path,
    bool force)
{
	struct delta_file old = { old_path, -1 }, fresh = { new_path, -1 };
	struct kv_pkbf f;
	/* The files stay ours, not f's. */
	bool ok = delta_open(&old, old_path) &&
	    filter_adopt(old_path, old.fd, &f) &&
	    delta_open(&fresh, new_path) &&
	    filter_adopt(new_path, fresh.fd, &f) &&
	    delta_run_diff(&old, &fresh, path, force);

	delta_close(&old);
	delta_close(&fresh);
	return ok;
}

static int
run_filter_diff(const struct cli_command *cmd, int argc, char **argv)
{
	int force = false;
	const struct option options[] = {
		{ "force", no_argument, &force, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 3, 3,
	    "give the old filter, the new one, and the delta to make");

	if (status != -1)
		return status;
	return make_delta(argv[optind], argv[optind + 1], argv[optind + 2],
		   force) ?
	    0 :
	    CLI_UNCHECKED;
}

const struct cli_command filter_diff = {
	.name = "filter diff",
	.synopsis = "OLD NEW DELTA [--force]",
	.help = "Write what NEW has more than OLD into a small file",
	.details =
	    "NEW must have k, p and all bits of OLD, as a later revision does. "
	    "'keyveto filter\n"
	    "patch OLD DELTA' then makes NEW of OLD.\n"
	    "\n"
	    "  --force   replace a DELTA that exists; keep any other file "
	    "beside it\n",
	.run = run_filter_diff,
};
