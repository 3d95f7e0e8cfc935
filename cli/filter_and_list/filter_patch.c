/* SPDX-License-Identifier: ISC */
/* keyveto filter patch: makes the next revision by a delta. */
#include "filter_and_list/delta_run.h"
#include "filter_and_list/filter.h"
#include "sets/pkbf_writer.h"

static bool
patch_filter(const char *old_path, const char *delta, const char *path,
    bool force, int yes)
{
	struct delta_file old = { old_path, -1 };
	struct pkbf_writer w;
	bool in_place = false, ok;

	/* Lock first: the old file is often the one that is replaced. */
	ok = pkbf_writer_open(&w, path, yes) &&
	    delta_open_old(&old, old_path, &w.file, &in_place) &&
	    (in_place ||
		pkbf_writer_may_replace(&w, force,
		    "exists; --force replaces it")) &&
	    delta_run_patch(&old, delta, DELTA_FILTER, &w.file);
	delta_close(&old);
	pkbf_writer_close(&w);
	return ok;
}

static int
run_filter_patch(const struct cli_command *cmd, int argc, char **argv)
{
	int force = false, yes = false;
	const struct option options[] = {
		{ "force", no_argument, &force, true },
		{ "yes", no_argument, &yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 2, 3,
	    "give the old filter, the delta, and the new filter if it gets "
	    "another name");

	if (status != -1)
		return status;
	return patch_filter(argv[optind], argv[optind + 1],
		   argv[argc - optind == 3 ? optind + 2 : optind], force, yes) ?
	    0 :
	    CLI_UNCHECKED;
}

const struct cli_command filter_patch = {
	.name = "filter patch",
	.synopsis = "OLD DELTA [NEW] [--force] [--yes]",
	.help = "Make the later filter of an old one and a delta",
	.details =
	    "DELTA is of 'keyveto filter diff', and applies to exactly one "
	    "OLD. Without NEW, OLD\n"
	    "is replaced. Either the result has the SHA-256 that DELTA says, "
	    "or nothing is\n"
	    "written.\n"
	    "\n"
	    "  --force   replace a NEW that exists; one that is no filter is "
	    "kept beside it\n"
	    "  --yes     although it may lock out root or an administrator\n",
	.run = run_filter_patch,
};
