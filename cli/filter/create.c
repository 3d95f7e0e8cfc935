/* SPDX-License-Identifier: ISC */
/* keyveto filter create: makes an empty filter. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "filter/filter.h"
#include "filter/pkbf_writer.h"

enum { OPT_ENTRIES = 2000, OPT_FPR, OPT_HASHES, OPT_LENGTH, OPT_FORCE };

static const struct option options[] = {
	{ "entries", required_argument, NULL, OPT_ENTRIES },
	{ "fpr", required_argument, NULL, OPT_FPR },
	{ "hashes", required_argument, NULL, OPT_HASHES },
	{ "length", required_argument, NULL, OPT_LENGTH },
	{ "force", no_argument, NULL, OPT_FORCE },
	CLI_HELP_LONGOPT,
	{ NULL, 0, NULL, 0 },
};

/* The options; 0: not given. */
struct wish {
	uint64_t entries;
	double fpr;
	uint64_t hashes, length;
	bool force;
};

static bool
read_count(const char *name, const char *text, uint64_t min, uint64_t max,
    uint64_t *valuep)
{
	if (cli_read_number(text, min, max, valuep))
		return true;
	cli_error("--%s is %s, not a whole number from %" PRIu64 " to %" PRIu64,
	    name, text, min, max);
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
read_wish(int opt, const char *value, struct wish *wish)
{
	switch (opt) {
	case OPT_ENTRIES:
		return read_count("entries", value, 1, UINT32_MAX,
		    &wish->entries);
	case OPT_FPR:
		return read_fpr(value, &wish->fpr);
	case OPT_HASHES:
		return read_count("hashes", value, 1, UINT8_MAX, &wish->hashes);
	case OPT_LENGTH:
		return read_count("length", value, KV_PKBF_LENGTH_MIN,
		    KV_PKBF_LENGTH_MAX, &wish->length);
	default:
		wish->force = true;
		return true;
	}
}

/* Whether exactly one pair of options is given, and complete. */
static bool
is_complete(const struct wish *wish)
{
	bool entries = wish->entries != 0, fpr = wish->fpr > 0;
	bool hashes = wish->hashes != 0, length = wish->length != 0;

	return entries == fpr && hashes == length && entries != hashes;
}

static bool
choose_header(const struct wish *wish, struct kv_pkbf_header *h)
{
	*h = (struct kv_pkbf_header){ .hashes = (uint8_t)wish->hashes,
		.length = (uint8_t)wish->length };
	if (wish->entries == 0 ||
	    filter_parameters(wish->entries, wish->fpr, &h->hashes, &h->length))
		return true;
	cli_error("%" PRIu64 " entries at a rate of %g take a filter of more "
		  "than 2^%d bits; allow a higher rate",
	    wish->entries, wish->fpr, KV_PKBF_LENGTH_MAX);
	return false;
}

static bool
create_filter(const char *path, const struct wish *wish)
{
	struct pkbf_writer w;
	struct kv_pkbf_header h;
	bool ok = false;

	if (!choose_header(wish, &h))
		return false;
	if (!pkbf_writer_open(&w, path))
		goto out;
	if (!pkbf_writer_may_replace(&w, wish->force))
		goto out;
	if (w.file.old != -1 && !wish->force) {
		cli_error("%s: exists; --force replaces it by an empty filter",
		    path);
		goto out;
	}
	if (!pkbf_writer_start(&w, &h) || !pkbf_writer_commit(&w))
		goto out;
	cli_error("%s: an empty filter: k %u, p %u, %jd bytes", path, h.hashes,
	    h.length, (intmax_t)kv_pkbf_file_bytes(h.length));
	ok = true;
out:
	pkbf_writer_close(&w);
	return ok;
}

static int
run_filter_create(const struct cli_command *cmd, int argc, char **argv)
{
	struct wish wish = { .entries = 0 };
	int opt;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt == '?' || !read_wish(opt, optarg, &wish))
			return CLI_UNCHECKED;
	}
	if (argc - optind != 1 || !is_complete(&wish)) {
		cli_error("give one FILE, and either --entries and --fpr or "
			  "--hashes and --length");
		return cli_usage_error(cmd);
	}
	return create_filter(argv[optind], &wish) ? 0 : CLI_UNCHECKED;
}

const struct cli_command filter_create = {
	.name = "filter create",
	.synopsis = "FILE (--entries N --fpr P | --hashes K --length P) "
		    "[--force]",
	.help = "Make an empty filter",
	.details =
	    "  --entries N   make room for N keys\n"
	    "  --fpr P       and call less than this share of other keys "
	    "listed (0.001)\n"
	    "  --hashes K    or: set K bits for each key, 1 to 255,\n"
	    "  --length P    of 2^P bits in all, 3 to 40\n"
	    "  --force       replace a filter that exists; keep any other file "
	    "beside it\n"
	    "\n"
	    "Elliptic curve keys take two entries each (see 'keyveto filter "
	    "add --help').\n",
	.run = run_filter_create,
};
