/* SPDX-License-Identifier: ISC */
/* keyveto filter create: makes an empty filter. */
#include <inttypes.h>

#include "filter_and_list/commands.h"
#include "sets/filter_facts.h"
#include "sets/pkbf_writer.h"

static bool
create_filter(const struct set_command *c, const struct set_options *o,
    char **operand)
{
	struct kv_pkbf_header h = { .hashes = (uint8_t)o->hashes,
		.length = (uint8_t)o->length };
	const char *path = operand[0];
	struct pkbf_writer w;
	bool ok;

	/* Exactly one of the two pairs, and complete. */
	if ((o->entries != 0) != (o->fpr > 0) ||
	    (o->hashes != 0) != (o->length != 0) ||
	    (o->entries != 0) == (o->hashes != 0))
		return cli_wrong_usage(&c->cmd, c->wanted) == 0;
	if (o->entries != 0 &&
	    !filter_facts_choose_size(o->entries, o->fpr, &h.hashes, &h.length))
		return cli_error(
		    "%" PRIu64 " entries at a rate of %g take a filter of more "
		    "than 2^%d bits; allow a higher rate",
		    o->entries, o->fpr, KV_PKBF_LENGTH_MAX);
	ok = pkbf_writer_open(&w, path) &&
	    set_may_replace(&w.file, c->kind, o->force,
		"exists; --force replaces it by an empty filter") &&
	    pkbf_writer_start(&w, &h) && pkbf_writer_commit(&w);
	if (ok)
		cli_error("%s: an empty filter: k %u, p %u, %jd bytes", path,
		    h.hashes, h.length, (intmax_t)kv_pkbf_file_bytes(h.length));
	replace_close(&w.file);
	return ok;
}

const struct set_command filter_create = {
	SET_COMMAND(filter, "create"),
	.cmd.synopsis = "FILE (--entries N --fpr P | --hashes K --length P) "
			"[--force] [--yes]",
	.cmd.help = "Make an empty filter",
	.cmd.details =
	    "  --entries N      make room for N keys\n"
	    "  --fpr P          and call less than this share of other keys "
	    "listed (0.001)\n"
	    "  --hashes K       or: set K bits for each key, 1 to 255,\n"
	    "  --length P       of 2^P bits in all, 3 to 40\n"
	    "  --force          replace a filter that exists; keep any other "
	    "file beside it\n"
	    "  --yes            although it may lock out root or an "
	    "administrator\n",
	.operands = { 1, 1 },
	.wanted = "give one FILE, and either --entries and --fpr or "
		  "--hashes and --length",
	.run = create_filter,
};
