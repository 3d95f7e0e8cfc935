/* SPDX-License-Identifier: ISC */
/* command: what every subcommand of keyveto shares. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "kv_verdict.h"

/* Exit status of check, audit and scan; other commands use 0 and 2. */
enum cli_status {
	CLI_NOTHING_LISTED = 0,
	CLI_LISTED = 1,
	CLI_UNCHECKED = 2, /* something could not be checked; bad usage */
};

/* A subcommand: the table of these is the dispatcher and the usage text. */
struct cli_command {
	const char *name;
	const char *synopsis; /* what follows the name in the usage */
	const char *help;     /* one line for the list of commands */
	const char *details;  /* the rest of --help: options, a line each */
	int (*run)(const struct cli_command *cmd, int argc, char **argv);
};

extern const struct cli_command cli_allow, cli_audit, cli_check, cli_config,
    cli_doctor, cli_filter, cli_scan, cli_spki, cli_sshd, cli_update;

/*
 * Options that all commands with a verdict take: --config FILE, --filter FILE.
 */
struct cli_judge_options {
	const char *config; /* NULL: the default, if it exists */
	const char *filter[KV_CONFIG_MAX_FILTERS];
	size_t n_filters;
};

/* getopt_long entries for these options and their values. */
#define CLI_OPT_CONFIG 1000
#define CLI_OPT_FILTER 1001
#define CLI_OPT_HELP 1002
#define CLI_JUDGE_LONGOPTS \
	{ "config", required_argument, NULL, CLI_OPT_CONFIG }, \
	    { "filter", required_argument, NULL, CLI_OPT_FILTER }, \
	    CLI_HELP_LONGOPT
#define CLI_HELP_LONGOPT \
	{ \
		"help", no_argument, NULL, CLI_OPT_HELP \
	}
#define CLI_JUDGE_HELP \
	"  --config FILE    configuration (default " KV_CONFIG_PATH ")\n" \
	"  --filter FILE    consult FILE, not the configuration's filters; " \
	"may repeat\n"

/*
 * Takes care of what getopt_long returned when it is CLI_OPT_CONFIG or
 * CLI_OPT_FILTER. False, after a message, for too many filters.
 */
bool cli_judge_option(struct cli_judge_options *o, int opt, const char *value);

/*
 * Opens configuration and filters; files that are not secure are warned of.
 * False after a message that says what is wrong: exit with CLI_UNCHECKED.
 */
bool cli_judge_open(struct kv_judge *j, const struct cli_judge_options *o);

/*
 * getopt_long without short options. '?' after a message and the usage, for
 * an option that is unknown or lacks its value: exit with CLI_UNCHECKED.
 */
struct option;
int cli_getopt(const struct cli_command *cmd, int argc, char **argv,
    const struct option *options);

/* Prints usage and help of a command: to stdout for --help, 0 is returned. */
int cli_help(const struct cli_command *cmd);
/* After a message of cli_error: the usage on stderr, returns 2. */
int cli_usage_error(const struct cli_command *cmd);

/*
 * Runs the one of n subcommands that argv[1] names; their names are cmd's and
 * that word. more ("so does keyveto(1)") ends the usage.
 */
int cli_run_subcommand(const struct cli_command *cmd,
    const struct cli_command *const *subcommand, size_t n, const char *more,
    int argc, char **argv);

/* "keyveto: " and the message, control bytes made harmless, on stderr. */
void cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Writes len bytes of untrusted text to out, control and non-ASCII bytes as
 * \xNN, so that nothing in a file can act on a terminal or forge a line.
 */
void cli_print_safe(FILE *out, const void *text, size_t len);

/* A whole number in [min, max], digits only; false for anything else. */
bool cli_read_number(const char *text, uint64_t min, uint64_t max,
    uint64_t *valuep);

/*
 * What getopt_long found behind such an option, in optarg: a whole number from
 * 1 to max; an absolute path. False after a message.
 */
bool cli_option_number(const char *option, uint64_t max, uint64_t *valuep);
bool cli_option_path(const char *option, const char **pathp);

/*
 * Has handler called for the first of each of n signals; but what is ignored,
 * as under nohup, stays ignored.
 */
void cli_catch_signals(const int *signals, size_t n, void (*handler)(int));

/* Flushes and checks standard output: false, after a message, if it failed. */
bool cli_stdout_ok(void);

#endif
