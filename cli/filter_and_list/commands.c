/* SPDX-License-Identifier: ISC */
/* keyveto filter and keyveto list: which subcommands and options they have. */
#include "filter_and_list/commands.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sets/list_names.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { ENTRIES = 1, FPR, HASHES, LENGTH, ID, NAME };

/* Each is false after a message. */
static bool
read_count(const char *name, uint64_t min, uint64_t max, uint64_t *valuep)
{
	if (cli_read_number(optarg, min, max, valuep))
		return true;
	return cli_error("--%s is %s, not a whole number from %" PRIu64
			 " to %" PRIu64,
	    name, optarg, min, max);
}

static bool
read_fpr(double *fprp)
{
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
read_id(uint64_t *idp)
{
	if (cli_read_number(optarg, 0, UINT8_MAX, idp))
		return true;
	return cli_error("--id takes a number from 0 to %d, not %s", UINT8_MAX,
	    optarg);
}

static bool
read_name(const char **namep)
{
	*namep = optarg;
	if (list_names_is_valid(optarg))
		return true;
	return cli_error(
	    "--name takes at most %d letters, digits, dots, hyphens and "
	    "underscores, not %s",
	    KV_SOURCE_NAME_BYTES - 1, optarg);
}

/* Reads the value of an option, if it has one. False after a message. */
static bool
read_value(int opt, struct set_options *o)
{
	switch (opt) {
	case 0:
		return true;
	case ENTRIES:
		return read_count("entries", 1, UINT32_MAX, &o->entries);
	case FPR:
		return read_fpr(&o->fpr);
	case HASHES:
		return read_count("hashes", 1, UINT8_MAX, &o->hashes);
	case LENGTH:
		return read_count("length", KV_PKBF_LENGTH_MIN,
		    KV_PKBF_LENGTH_MAX, &o->length);
	case ID:
		return read_id(&o->id);
	case NAME:
		return read_name(&o->name);
	default:
		return false;
	}
}

int
set_command_run(const struct cli_command *cmd, int argc, char **argv)
{
	const struct set_command *c = (const struct set_command *)cmd;
	struct set_options o = { .force = false };
	const struct option all[] = {
		{ "all", no_argument, &o.all, true },
		{ "json", no_argument, &o.json, true },
		{ "entries", required_argument, NULL, ENTRIES },
		{ "fpr", required_argument, NULL, FPR },
		{ "hashes", required_argument, NULL, HASHES },
		{ "length", required_argument, NULL, LENGTH },
		{ "fold", no_argument, &o.fold, true },
		{ "force", no_argument, &o.force, true },
		{ "id", required_argument, NULL, ID },
		{ "name", required_argument, NULL, NAME },
		{ "no-compressed", no_argument, &o.no_compressed, true },
		{ "ca", no_argument, &o.ca, true },
		{ "spki", no_argument, &o.spki, true },
		{ "proofs", no_argument, &o.proofs, true },
		{ "yes", no_argument, &o.yes, true },
	};
	struct option taken[COUNT(all) + 2] = { CLI_HELP_LONGOPT };
	char word[32];
	size_t n = 1;
	int opt;

	for (size_t i = 0; i < COUNT(all); i++) {
		snprintf(word, sizeof(word), "--%s", all[i].name);
		if (strstr(cmd->synopsis, word) != NULL)
			taken[n++] = all[i];
	}
	while ((opt = cli_getopt(cmd, argc, argv, taken)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (!read_value(opt, &o))
			return CLI_UNCHECKED;
	}
	if (argc - optind < c->operands[0] || argc - optind > c->operands[1]) {
		cli_error("%s", c->wanted);
		return cli_usage_error(cmd);
	}
	return c->run(c, &o, argv + optind) ? 0 : CLI_UNCHECKED;
}

static int
run_set(const struct cli_command *cmd, int argc, char **argv)
{
	static const struct cli_command *const commands[][8] = {
		{ &filter_create.cmd, &filter_add.cmd, &filter_merge.cmd,
		    &filter_diff.cmd, &filter_patch.cmd, &filter_info.cmd,
		    &filter_verify.cmd, &filter_explain.cmd },
		{ &list_create.cmd, &list_add.cmd, &list_merge.cmd,
		    &list_diff.cmd, &list_patch.cmd, &list_info.cmd,
		    &list_verify.cmd, &list_explain.cmd },
	};
	static const char *const more[] = {
		"so do keyveto(1) and pkbf(5)",
		"so do keyveto(1) and keyveto-blocklist(5)",
	};
	const bool is_list = cmd == &cli_list;

	return cli_run_subcommand(cmd, commands[is_list], COUNT(*commands),
	    more[is_list], argc, argv);
}

#define SET_SYNOPSIS "COMMAND [OPTION...] [ARGUMENT...]"

const struct cli_command cli_filter = { "filter", SET_SYNOPSIS, CLI_FILTER_HELP,
	"", run_set };
const struct cli_command cli_list = { "list", SET_SYNOPSIS, CLI_LIST_HELP, "",
	run_set };
