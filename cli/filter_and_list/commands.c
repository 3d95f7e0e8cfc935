/* SPDX-License-Identifier: ISC */
/* keyveto filter and keyveto list: which subcommands and options they have. */
#include "filter_and_list/commands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sets/filter_facts.h"
#include "sets/list_names.h"
#include "sets/pkbf_writer.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Each is false after a message. */
static bool
read_count(const struct cli_option *o)
{
	if (cli_read_number(optarg, o->min, o->max, o->number))
		return true;
	return cli_error("--%s is %s, not a whole number from %" PRIu64
			 " to %" PRIu64,
	    o->name, optarg, o->min, o->max);
}

static bool
read_fpr(const struct cli_option *o)
{
	double *fprp = o->arg;
	char *end;

	/* strtod also takes "nan", "inf" and hexadecimal. */
	*fprp = strtod(optarg, &end);
	if (optarg[strspn(optarg, "0123456789.eE-+")] == '\0' &&
	    end != optarg && *end == '\0' && *fprp > 0 && *fprp < 1)
		return true;
	return cli_error(
	    "--fpr is %s, not a number between 0 and 1, such as 0.001 or 1e-6",
	    optarg);
}

static bool
read_name(const struct cli_option *o)
{
	*o->text = optarg;
	if (list_names_is_valid(optarg))
		return true;
	return cli_error(
	    "--name takes at most %d letters, digits, dots, hyphens and "
	    "underscores, not %s",
	    KV_SOURCE_NAME_BYTES - 1, optarg);
}

int
set_command_run(const struct cli_command *cmd, int argc, char **argv)
{
	const struct set_command *c = (const struct set_command *)cmd;
	struct set_options o = { .force = false };
	const struct cli_option options[] = {
		{ .name = "all", .flag = &o.all },
		{ .name = "json", .flag = &o.json },
		{ .name = "entries",
		    .number = &o.entries,
		    .min = 1,
		    .max = UINT32_MAX,
		    .read = read_count },
		{ .name = "fpr", .read = read_fpr, .arg = &o.fpr },
		{ .name = "hashes",
		    .number = &o.hashes,
		    .min = 1,
		    .max = UINT8_MAX,
		    .read = read_count },
		{ .name = "length",
		    .number = &o.length,
		    .min = KV_PKBF_LENGTH_MIN,
		    .max = KV_PKBF_LENGTH_MAX,
		    .read = read_count },
		{ .name = "fold", .flag = &o.fold },
		{ .name = "force", .flag = &o.force },
		{ .name = "id", .number = &o.id, .max = UINT8_MAX },
		{ .name = "name", .text = &o.name, .read = read_name },
		{ .name = "no-compressed", .flag = &o.no_compressed },
		{ .name = "ca", .flag = &o.ca },
		{ .name = "spki", .flag = &o.spki },
		{ .name = "proofs", .flag = &o.proofs },
		{ .name = "yes", .flag = &o.yes },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	if (argc - optind < c->operands[0] || argc - optind > c->operands[1])
		return cli_wrong_usage(cmd, c->wanted);
	return c->run(c, &o, argv + optind) ? 0 : CLI_UNCHECKED;
}

/* Makes an empty filter. */
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

static const struct set_command filter_create = {
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

static int
run_set(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct cli_command *const commands[][6] = {
		{ &filter_create.cmd, &filter_add.cmd, &filter_merge.cmd,
		    &filter_info.cmd, &filter_verify.cmd, &filter_explain.cmd },
		{ &list_create.cmd, &list_add.cmd, &list_merge.cmd,
		    &list_info.cmd, &list_verify.cmd, &list_explain.cmd },
	};

	return cli_run_subcommand(cmd, commands[cmd == &cli_list],
	    COUNT(*commands), argc, argv);
}

#define SET_SYNOPSIS "COMMAND [OPTION...] [ARGUMENT...]"

const struct cli_command cli_filter = {
	.name = "filter",
	.synopsis = SET_SYNOPSIS,
	.help = CLI_FILTER_HELP,
	.run = run_set,
};

const struct cli_command cli_list = {
	.name = "list",
	.synopsis = SET_SYNOPSIS,
	.help = CLI_LIST_HELP,
	.run = run_set,
};
