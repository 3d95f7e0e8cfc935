/* SPDX-License-Identifier: ISC */
/* command: functions that all subcommands of keyveto share. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <getopt.h>

#include "kv_verdict.h"

/* Exit status of check, audit and scan; other commands use 0 and 2. */
enum cli_status {
	CLI_NOTHING_LISTED = 0,
	CLI_LISTED = 1,
	CLI_UNCHECKED = 2, /* something could not be checked; bad usage */
};

/* A subcommand. main.c has a table of these, for dispatch and usage. */
struct cli_command {
	const char *name;
	const char *synopsis; /* the arguments in the usage */
	const char *help;     /* its line in the list of commands */
	const char *details;  /* of --help: a line for each option */
	int section;	      /* of its manual page; 0 means 1 */
	const char *page;     /* whose page it shares, as "enable"; or NULL */
	const char *heading;  /* above it in the list of commands; or NULL */
	int (*run)(const struct cli_command *cmd, int argc, char **argv);
};

extern const struct cli_command cli_allow, cli_audit, cli_check, cli_config,
    cli_confirm, cli_deny, cli_disable, cli_enable, cli_filter, cli_list,
    cli_proof, cli_scan, cli_setup, cli_spki, cli_status, cli_update, cli_why;

/* What the list of commands says of those that run in keyveto-worker. */
#define CLI_FILTER_HELP "Make, change and inspect filters"
#define CLI_LIST_HELP "Make, change and inspect exact lists"
#define CLI_PROOF_HELP "Verify proofs that a key is compromised"

/* Options of all commands that judge keys: --config, --filter, --blocklist. */
struct cli_judge_options {
	const char *config; /* NULL: the default, if it exists */
	const char *filter[KV_CONFIG_MAX_FILTERS];
	size_t n_filters;
	const char *blocklist[KV_CONFIG_MAX_BLOCKLISTS];
	size_t n_blocklists;
	/* Nobody named these files: upkeep/own_list found them. */
	bool found;
	const char *own_list; /* the last list, the user's own; or NULL */
	/* One of the lists, of this machine, that no login consults; or NULL. */
	const char *unconsulted;
};

/* Sets the configuration to the default, if none is named and it exists. */
void cli_judge_choose_config(struct cli_judge_options *o);

#define CLI_JUDGE_HELP \
	"  --config FILE    configuration (default " KV_CONFIG_PATH ")\n" \
	"  --filter FILE    consult FILE, not the configuration's; may " \
	"repeat\n" \
	"  --blocklist FILE the same with an exact list\n"

/* What --help of each command that makes or takes proofs says of them. */
#define CLI_PROOFS_HELP \
	"Whoever can use a key can make a proof, also by a forwarded agent " \
	"or a token.\n"

/*
 * The files that o names, in *paths. NULL if o names none, so that those of the
 * configuration count: for kv_judge_open_with.
 */
const struct kv_paths *cli_judge_paths(const struct cli_judge_options *o,
    struct kv_paths *paths);

/*
 * For kv_judge_open_with: as kv_trusted_open for a file that must be root's,
 * but path may be relative. arg is not used.
 */
KV_MUST_CHECK enum kv_err cli_open_as_login(const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES], void *arg);

/* The same, but only warns of a file that a login, or this user, does not trust. */
KV_MUST_CHECK enum kv_err cli_open_with_warning(const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES], void *arg);

/*
 * Sets why to the reason for which a login would not trust the file; "" if
 * there is none.
 */
void cli_find_distrust(const char *path, char why[static KV_TRUSTED_WHY_BYTES]);
/*
 * Prints a warning with that reason, if run by root. Other users' files are
 * not for logins.
 */
void cli_warn_if_distrusted(const char *path);

/* An option of a command. */
struct cli_option {
	const char *name;   /* without --; NULL: the end of a list */
	bool *flag;	    /* is set; without text it has no argument */
	int *choice, value; /* gets value; then it has no argument */
	const char **text;  /* gets the argument; with flag it may lack one */
	bool path;	    /* the argument has to be an absolute path */
	/* Then text has n of them, and room for max; 0: for any number. */
	size_t *n;
	const char *what; /* the name of more than max of them */
	uint64_t *number; /* gets the argument, from min to max */
	uint64_t min, max;
	/* Reads the argument, optarg, instead. False after a message. */
	bool (*read)(const struct cli_option *o);
	void *arg; /* for read */
};

/*
 * Reads those of the options that the synopsis names, --help, and unless judge
 * is NULL --config, --filter and --blocklist. Returns -1; the operands are left,
 * from optind on (getopt(3)). Otherwise the exit status, after --help or a
 * message.
 */
int cli_read_options(const struct cli_command *cmd, int argc, char **argv,
    const struct cli_option *options, struct cli_judge_options *judge);

/* Prints the usage on stderr. Call it after cli_error. Returns 2. */
int cli_usage_error(const struct cli_command *cmd);
/* Does both. */
int cli_wrong_usage(const struct cli_command *cmd, const char *mistake);

/*
 * Runs the subcommand that argv[1] names, and returns its exit status. Each
 * name is cmd's name, a blank and that word; the word alone if cmd's name is
 * "".
 */
int cli_run_subcommand(const struct cli_command *cmd,
    const struct cli_command *const *subcommand, size_t n, int argc,
    char **argv);

/*
 * Prints "keyveto: ", the message and a line end on stderr. Bytes that are not
 * printable ASCII become \xNN. Always false.
 */
bool cli_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* cli_error about a line of a file; line 0: about the whole file. */
bool cli_error_at(const char *path, uint64_t line, const char *reason);

/* Prints path, what and the text of errno. Always false. */
bool cli_failed(const char *path, const char *what);

/*
 * As fprintf, but bytes that are not printable ASCII become \xNN, apart from a
 * line end at the end of fmt.
 */
void cli_printf(FILE *out, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Writes len bytes of untrusted text to out. Bytes that are not printable ASCII
 * become \xNN, so that no file can control a terminal or forge a line.
 */
void cli_print_safe(FILE *out, const void *text, size_t len);

/* Returns one if n is 1, otherwise many: "entry", "entries". */
const char *cli_plural(uint64_t n, const char *one, const char *many);

/* Parses a whole number in [min, max], digits only. False otherwise. */
bool cli_read_number(const char *text, uint64_t min, uint64_t max,
    uint64_t *valuep);

/* Reads exactly len bytes at offset at of fd. False after a message. */
bool cli_read_at(const char *path, int fd, void *buf, size_t len, off_t at);

/*
 * Has handler called once for each of n signals. A signal that is ignored, as
 * under nohup, stays ignored.
 */
void cli_catch_signals(const int *signals, size_t n, void (*handler)(int));

/*
 * Has a signal that would end the process noted instead, once: the run ends
 * itself then, and removes its files.
 */
void cli_note_signals(void);
/* The signal that was noted; 0: none. */
int cli_noted_signal(void);
bool cli_was_signalled(void);

/*
 * Flushes standard output. False after a message if any write failed. The
 * message says whether the run has changed a file, since the status alone would
 * say that nothing was done.
 */
bool cli_stdout_ok(void);

/* Notes for cli_stdout_ok that the file was changed for good. */
void cli_note_change(const char *path);
/* All is as it was before. */
void cli_forget_changes(void);

#endif
