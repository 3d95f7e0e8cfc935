/* SPDX-License-Identifier: ISC */
/* keyveto filter create: makes an empty filter. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sets/filter_facts.h"
#include "filter_and_list/commands.h"
#include "sets/pkbf_writer.h"
#include "sets/set.h"

/* The options; 0: not given. */
struct wish {
	uint64_t entries;
	double fpr;
	uint64_t hashes, length;
	int force, yes;
};

static bool
read_count(const char *name, uint64_t min, uint64_t max, uint64_t *valuep)
{
	if (cli_read_number(optarg, min, max, valuep))
		return true;
	cli_error("--%s is %s, not a whole number from %" PRIu64 " to %" PRIu64,
	    name, optarg, min, max);
	return false;
}

static bool
read_fpr(const char *text, double *fprp)
{
	char *end;

	/* strtod also takes "nan", "inf" and hexadecimal. */
	*fprp = strtod(text, &end);
	if (text[strspn(text, "0123456789.eE-+")] == '\0' && end != text &&
	    *end == '\0' && *fprp > 0 && *fprp < 1)
		return true;
	cli_error("--fpr is %s, not a number between 0 and 1, such as 0.001 or "
		  "1e-6",
	    text);
	return false;
}

static bool
create_filter(const char *path, const struct wish *wish)
{
	struct kv_pkbf_header h = { .hashes = (uint8_t)wish->hashes,
		.length = (uint8_t)wish->length };
	struct pkbf_writer w;
	bool ok = false;

	if (wish->entries != 0 &&
	    !filter_facts_choose_size(wish->entries, wish->fpr, &h.hashes,
		&h.length)) {
		cli_error("%" PRIu64 " entries at a rate of %g take a filter "
			  "of more than 2^%d bits; allow a higher rate",
		    wish->entries, wish->fpr, KV_PKBF_LENGTH_MAX);
		return false;
	}
	if (!pkbf_writer_open(&w, path, wish->yes) ||
	    !set_may_replace(&w.file, &set_filter, wish->force,
		"exists; --force replaces it by an empty filter") ||
	    !pkbf_writer_start(&w, &h) || !pkbf_writer_commit(&w))
		goto out;
	cli_error("%s: an empty filter: k %u, p %u, %jd bytes", path, h.hashes,
	    h.length, (intmax_t)kv_pkbf_file_bytes(h.length));
	ok = true;
out:
	replace_close(&w.file);
	return ok;
}

static int
run_filter_create(const struct cli_command *cmd, int argc, char **argv)
{
	enum { ENTRIES = 1, FPR, HASHES, LENGTH };
	struct wish w = { .entries = 0 };
	const struct option options[] = {
		{ "entries", required_argument, NULL, ENTRIES },
		{ "fpr", required_argument, NULL, FPR },
		{ "hashes", required_argument, NULL, HASHES },
		{ "length", required_argument, NULL, LENGTH },
		{ "force", no_argument, &w.force, true },
		{ "yes", no_argument, &w.yes, true },
		CLI_HELP_LONGOPT,
		{ NULL, 0, NULL, 0 },
	};
	bool ok = true;
	int opt;

	while (ok && (opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt == ENTRIES)
			ok = read_count("entries", 1, UINT32_MAX, &w.entries);
		else if (opt == FPR)
			ok = read_fpr(optarg, &w.fpr);
		else if (opt == HASHES)
			ok = read_count("hashes", 1, UINT8_MAX, &w.hashes);
		else if (opt == LENGTH)
			ok = read_count("length", KV_PKBF_LENGTH_MIN,
			    KV_PKBF_LENGTH_MAX, &w.length);
		else
			ok = opt == 0;
	}
	if (!ok)
		return CLI_UNCHECKED;
	/* Exactly one of the two pairs, and complete. */
	if (argc - optind != 1 || (w.entries != 0) != (w.fpr > 0) ||
	    (w.hashes != 0) != (w.length != 0) ||
	    (w.entries != 0) == (w.hashes != 0)) {
		cli_error("give one FILE, and either --entries and --fpr or "
			  "--hashes and --length");
		return cli_usage_error(cmd);
	}
	return create_filter(argv[optind], &w) ? 0 : CLI_UNCHECKED;
}

const struct cli_command filter_create = {
	.name = "filter create",
	.synopsis = "FILE (--entries N --fpr P | --hashes K --length P) "
		    "[--force] [--yes]",
	.help = "Make an empty filter",
	.details =
	    "  --entries N      make room for N keys\n"
	    "  --fpr P          and call less than this share of other keys "
	    "listed (0.001)\n"
	    "  --hashes K       or: set K bits for each key, 1 to 255,\n"
	    "  --length P       of 2^P bits in all, 3 to 40\n"
	    "  --force          replace a filter that exists; keep any other "
	    "file beside it\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.run = run_filter_create,
};
