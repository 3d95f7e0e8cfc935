/* SPDX-License-Identifier: ISC */
/* keyveto list patch: makes the next exact list by a delta. */
#include <getopt.h>

#include "filter_and_list/delta_run.h"
#include "filter_and_list/list.h"
#include "sets/list_writer.h"

static struct list_writer writer;

static bool
patch_list(const char *old_path, const char *delta, const char *path,
    bool force, int yes)
{
	struct delta_file old = { old_path, -1 };
	bool in_place = false, ok;

	/* Lock first: the old file is often the one that is replaced. */
	ok = list_writer_open(&writer, path, yes) &&
	    delta_open_old(&old, old_path, &writer.file, &in_place) &&
	    (in_place ||
		list_writer_may_replace(&writer, force,
		    "exists; --force replaces it")) &&
	    delta_run_patch(&old, delta, DELTA_LIST, &writer.file);
	delta_close(&old);
	list_writer_close(&writer);
	return ok;
}

static int
run_list_patch(const struct cli_command *cmd, int argc, char **argv)
{
	int force = false, yes = false;
	const struct option options[] = {
		{ "force", no_argument, &force, true },
		{ "yes", no_argument, &yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	int status = cli_read_arguments(cmd, argc, argv, options, 2, 3,
	    "give the old list, the delta, and the new list if it gets another "
	    "name");

	if (status != -1)
		return status;
	return patch_list(argv[optind], argv[optind + 1],
		   argv[argc - optind == 3 ? optind + 2 : optind], force, yes) ?
	    0 :
	    CLI_UNCHECKED;
}

const struct cli_command list_patch = {
	.name = "list patch",
	.synopsis = "OLD DELTA [NEW] [--force] [--yes]",
	.help = "Make the later list of an old one and a delta",
	.details =
	    "DELTA is of 'keyveto list diff OLD NEW DELTA', and applies to "
	    "exactly one OLD.\n"
	    "Without NEW, OLD is replaced. Either the result has the SHA-256 "
	    "that DELTA says,\n"
	    "or nothing is written. The names of sources (LIST.sources) are "
	    "not in a delta.\n"
	    "\n"
	    "  --force   replace a NEW that exists; one that is no list is "
	    "kept beside it\n"
	    "  --yes     although it may lock out root or an administrator\n",
	.run = run_list_patch,
};
