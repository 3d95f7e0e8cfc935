/* SPDX-License-Identifier: ISC */
/* filter_and_list/commands: the subcommands of keyveto filter and list. */
#ifndef CLI_FILTER_AND_LIST_COMMANDS_H
#define CLI_FILTER_AND_LIST_COMMANDS_H

#include "command.h"
#include "sets/set.h"

/* The options of a command line. All zeroes: none is given. */
struct set_options {
	/* --yes is for the front, which says what may be replaced. */
	bool all, ca, fold, force, json, no_compressed, proofs, spki, yes;
	uint64_t entries, hashes, id, length;
	double fpr;
	const char *name;
};

/* A subcommand of a kind of sets: its initializer begins with SET_COMMAND. */
struct set_command {
	/* Its synopsis has the options that it takes. */
	struct cli_command cmd;
	const struct set_kind *kind;
	int operands[2];    /* so many, from and to, */
	const char *wanted; /* which are these */
	/* False after a message: the exit status is 2. */
	bool (*run)(const struct set_command *c, const struct set_options *o,
	    char **operand);
};

extern const struct set_command filter_add, filter_merge, filter_info,
    filter_verify, filter_explain;
extern const struct set_command list_create, list_add, list_merge, list_info,
    list_verify, list_explain;

int set_command_run(const struct cli_command *cmd, int argc, char **argv);

#define SET_COMMAND(of, verb) \
	.cmd.name = #of " " verb, .cmd.run = set_command_run, .kind = &set_##of

#endif
