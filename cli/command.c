/* SPDX-License-Identifier: ISC */
#include "command.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name that somebody meant who mistyped it. */
struct nearest {
	const char *word; /* what was typed */
	const char *name; /* the nearest name so far; NULL: none is close */
	size_t distance;  /* of name to word */
};

/* More characters than any command or option has. */
#define WORD_MAX 31

static size_t
min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The optimal string alignment distance: how many characters are changed, put
 * in, taken out or swapped with the next one.
 */
static size_t
measure(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++) {
		for (size_t j = 0; j <= b_len; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = min(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]),
			    min(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[a_len][b_len];
}

/*
 * Keeps name if it is nearer to the word than those before, and close: a third
 * of the word's characters may be wrong, left out, too many or swapped. Of two
 * that are as near, a letter of the longer one was left out.
 */
static void
nearest_try(struct nearest *n, const char *name)
{
	const size_t len = strlen(n->word), name_len = strlen(name);
	size_t distance;

	if (len > WORD_MAX || name_len > WORD_MAX)
		return;
	distance = measure(n->word, len, name, name_len);
	if (distance > len / 3 ||
	    (n->name != NULL &&
		(distance > n->distance ||
		    (distance == n->distance && name_len <= strlen(n->name)))))
		return;
	n->name = name;
	n->distance = distance;
}

/*
 * Sets text to "; did you mean NAME?", with prefix before the name; to "" if no
 * name is close. Returns text.
 */
static const char *
nearest_ask(const struct nearest *n, const char *prefix, char text[static 64])
{
	text[0] = '\0';
	if (n->name != NULL)
		snprintf(text, 64, "; did you mean %s%s?", prefix, n->name);
	return text;
}

/* What others call a command of ours. */
static void
nearest_synonym(struct nearest *n)
{
	static const char *const words[][2] = {
		{ "ban", "deny" },
		{ "block", "deny" },
		{ "revoke", "deny" },
		{ "explain", "why" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(n->word, words[i][0]) == 0)
			n->name = words[i][1];
}

/* More than any command has. */
#define OPTIONS_MAX 32
/* Long options are no characters, by which next_option tells short ones. */
#define FIRST_OPTION (UCHAR_MAX + 1)

void
cli_print_safe(FILE *out, const void *text, size_t len)
{
	const unsigned char *p = text;

	while (len > 0) {
		size_t n = 0;

		while (n < len && p[n] >= 0x20 && p[n] <= 0x7e)
			n++;
		fwrite(p, 1, n, out);
		if (n < len)
			fprintf(out, "\\x%02x", p[n++]);
		p += n;
		len -= n;
	}
}

void
cli_printf(FILE *out, const char *fmt, ...)
{
	const size_t n = strlen(fmt);
	const bool ends = n > 0 && fmt[n - 1] == '\n';
	va_list ap;
	char *text;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len == -1) {
		cli_error("out of memory");
		return;
	}
	cli_print_safe(out, text, (size_t)len - ends);
	if (ends)
		putc('\n', out);
	free(text);
}

/* The subcommands of a command share its page. */
static const char *
name_page(const struct cli_command *cmd, char page[static 64])
{
	const char *name = cmd->page != NULL ? cmd->page : cmd->name;
	const size_t len = strcspn(name, " ");

	snprintf(page, 64, "keyveto%s%.*s(%d)", len > 0 ? "-" : "", (int)len,
	    name, cmd->section != 0 ? cmd->section : 1);
	return page;
}

int
cli_run_subcommand(const struct cli_command *cmd,
    const struct cli_command *const *subcommand, size_t n, int argc,
    char **argv)
{
	const char *blank = *cmd->name != '\0' ? " " : "";
	const size_t prefix = strlen(cmd->name) + strlen(blank);
	const bool help = argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
		strcmp(argv[1], "-h") == 0);
	FILE *out = help ? stdout : stderr;
	struct nearest nearest = { .word = argc > 1 ? argv[1] : "" };
	char text[64];

	for (size_t i = 0; argc > 1 && i < n; i++) {
		if (strcmp(argv[1], subcommand[i]->name + prefix) == 0)
			return subcommand[i]->run(subcommand[i], argc - 1,
			    argv + 1);
		nearest_try(&nearest, subcommand[i]->name + prefix);
	}
	if (argc > 1 && !help) {
		if (*blank == '\0')
			nearest_synonym(&nearest);
		cli_error("unknown command %s%s%s%s", cmd->name, blank, argv[1],
		    nearest_ask(&nearest, "", text));
		cli_error("type keyveto%s%s --help, which names all", blank,
		    cmd->name);
		return CLI_UNCHECKED;
	}
	fprintf(out, "usage: keyveto%s%s %s\n\n", blank, cmd->name,
	    cmd->synopsis);
	for (size_t i = 0; i < n; i++) {
		if (subcommand[i]->heading != NULL)
			fprintf(out, "\n%s\n", subcommand[i]->heading);
		fprintf(out, "  %-8s %s\n", subcommand[i]->name + prefix,
		    subcommand[i]->help);
	}
	fprintf(out, "\n'keyveto%s%s COMMAND --help' tells more; so does %s.\n",
	    blank, cmd->name, name_page(cmd, text));
	return help && cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

bool
cli_error(const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("keyveto: ", stderr);
	cli_print_safe(stderr, text, strlen(text));
	putc('\n', stderr);
	return false;
}

bool
cli_error_at(const char *path, uint64_t line, const char *reason)
{
	if (line > 0)
		return cli_error("%s:%" PRIu64 ": %s", path, line, reason);
	return cli_error("%s: %s", path, reason);
}

bool
cli_failed(const char *path, const char *what)
{
	return cli_error("%s: %s: %s", path, what, strerror(errno));
}

const char *
cli_plural(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* Prints the usage, the options and the manual page. Returns the exit status. */
static int
print_help(const struct cli_command *cmd)
{
	char page[64];

	printf("usage: keyveto %s %s\n\n%s.\n\n%s%s%s tells more.\n", cmd->name,
	    cmd->synopsis, cmd->help, cmd->details,
	    *cmd->details != '\0' ? "\n" : "", name_page(cmd, page));
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

int
cli_usage_error(const struct cli_command *cmd)
{
	fprintf(stderr, "usage: keyveto %s %s\n", cmd->name, cmd->synopsis);
	return CLI_UNCHECKED;
}

int
cli_wrong_usage(const struct cli_command *cmd, const char *mistake)
{
	cli_error("%s", mistake);
	return cli_usage_error(cmd);
}

/* Prints that there is no such option, and which one may have been meant. */
static void
report_bad_option(const char *word, const struct option *options)
{
	const char *begin = word + strspn(word, "-");
	char name[64], text[64];
	struct nearest nearest = { .word = name };

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(begin, "="), begin);
	/* Otherwise the option is known, and takes no value. */
	for (; optopt == 0 && options->name != NULL; options++)
		nearest_try(&nearest, options->name);
	cli_error("bad option %s%s", word, nearest_ask(&nearest, "--", text));
}

/* getopt_long; -h alone is short. '?' after a message and the usage. */
static int
next_option(const struct cli_command *cmd, int argc, char **argv,
    const struct option *options)
{
	int opt;

	opterr = 0;
	opt = getopt_long(argc, argv, ":h", options, NULL);
	if (opt != '?' && opt != ':')
		return opt;
	if (opt == ':')
		cli_error("option %s needs a value", argv[optind - 1]);
	else if (optopt > 0 && optopt <= UCHAR_MAX)
		cli_error("unknown option -%c", optopt);
	else
		report_bad_option(argv[optind - 1], options);
	cli_usage_error(cmd);
	return '?';
}

/* Reads optarg as the number of o. False after a message. */
static bool
read_option_number(const struct cli_option *o)
{
	if (cli_read_number(optarg, o->min, o->max, o->number))
		return true;
	return cli_error("--%s takes a number from %" PRIu64 " to %" PRIu64
			 ", not %s",
	    o->name, o->min, o->max, optarg);
}

/* Stores the argument of the option. False after a message. */
static bool
set_option(const struct cli_option *o)
{
	if (o->read != NULL)
		return o->read(o);
	if (o->number != NULL)
		return read_option_number(o);
	if (o->flag != NULL)
		*o->flag = true;
	if (o->choice != NULL)
		*o->choice = o->value;
	if (o->n != NULL && o->max != 0 && *o->n == o->max)
		return cli_error("more than %" PRIu64 " %s", o->max, o->what);
	if (o->text != NULL && optarg != NULL)
		o->text[o->n != NULL ? (*o->n)++ : 0] = optarg;
	return !o->path || *optarg == '/' ||
	    cli_error("--%s takes an absolute path, not %s", o->name, optarg);
}

static bool
is_in_synopsis(const struct cli_command *cmd, const char *name)
{
	const size_t len = strlen(name);
	const char *word = cmd->synopsis;

	while ((word = strstr(word, "--")) != NULL) {
		word += 2;
		if (strncmp(word, name, len) == 0 && word[len] != '-' &&
		    (word[len] < 'a' || word[len] > 'z'))
			return true;
	}
	return false;
}

static int
find_kind_of_argument(const struct cli_option *o)
{
	if (o->choice != NULL || (o->flag != NULL && o->text == NULL))
		return no_argument;
	return o->flag != NULL ? optional_argument : required_argument;
}

int
cli_read_options(const struct cli_command *cmd, int argc, char **argv,
    const struct cli_option *options, struct cli_judge_options *judge)
{
	bool help = false;
	struct cli_option all[OPTIONS_MAX] = {
		{ .name = "help", .flag = &help },
	};
	struct option longopts[OPTIONS_MAX + 1] = { { NULL, 0, NULL, 0 } };
	int opt, n = 1;

	for (; options->name != NULL; options++)
		if (is_in_synopsis(cmd, options->name))
			all[n++] = *options;
	if (judge != NULL) {
		const struct cli_option judging[] = {
			{ .name = "config", .text = &judge->config },
			{ .name = "filter",
			    .text = judge->filter,
			    .n = &judge->n_filters,
			    .max = KV_CONFIG_MAX_FILTERS,
			    .what = "filters" },
			{ .name = "blocklist",
			    .text = judge->blocklist,
			    .n = &judge->n_blocklists,
			    .max = KV_CONFIG_MAX_BLOCKLISTS,
			    .what = "lists" },
		};

		memcpy(&all[n], judging, sizeof(judging));
		n += (int)(sizeof(judging) / sizeof(judging[0]));
	}
	for (int i = 0; i < n; i++)
		longopts[i] = (struct option){
			.name = all[i].name,
			.has_arg = find_kind_of_argument(&all[i]),
			.val = FIRST_OPTION + i,
		};
	while ((opt = next_option(cmd, argc, argv, longopts)) != -1) {
		if (opt == 'h')
			help = true;
		else if (opt == '?' || !set_option(&all[opt - FIRST_OPTION]))
			return CLI_UNCHECKED;
		if (help)
			return print_help(cmd);
	}
	return -1;
}

void
cli_catch_signals(const int *signals, size_t n, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler,
		.sa_flags = (int)SA_RESETHAND },
			 was;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < n; i++)
		if (sigaction(signals[i], NULL, &was) == 0 &&
		    was.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

static volatile sig_atomic_t noted_signal;

static void
note_signal(int sig)
{
	noted_signal = sig;
}

void
cli_note_signals(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM };

	cli_catch_signals(ending, sizeof(ending) / sizeof(ending[0]),
	    note_signal);
}

int
cli_noted_signal(void)
{
	return noted_signal;
}

bool
cli_was_signalled(void)
{
	return noted_signal != 0;
}

/* What this run has changed: the first file. */
static char changed[PATH_MAX];

void
cli_note_change(const char *path)
{
	if (changed[0] == '\0')
		snprintf(changed, sizeof(changed), "%s", path);
	/* Then write(2) fails instead, and cli_stdout_ok says so. */
	signal(SIGPIPE, SIG_IGN);
}

void
cli_forget_changes(void)
{
	changed[0] = '\0';
}

bool
cli_stdout_ok(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	if (changed[0] == '\0')
		return cli_error("standard output: %s", strerror(errno));
	return cli_error("standard output: %s; the change was made all the "
			 "same: %s has it",
	    strerror(errno), changed);
}

bool
cli_read_at(const char *path, int fd, void *buf, size_t len, off_t at)
{
	uint8_t *p = buf;

	while (len > 0) {
		ssize_t n = pread(fd, p, len, at);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return cli_error("%s: %s", path,
			    n == -1 ?
				strerror(errno) :
				"became shorter while it was read; try again");
		p += n;
		len -= (size_t)n;
		at += n;
	}
	return true;
}

bool
cli_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *valuep)
{
	unsigned long long n;

	if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
		return false;
	errno = 0;
	n = strtoull(text, NULL, 10);
	if (errno != 0 || n < min || n > max)
		return false;
	*valuep = n;
	return true;
}

const struct kv_paths *
cli_judge_paths(const struct cli_judge_options *o, struct kv_paths *paths)
{
	*paths = (struct kv_paths){
		.filter = o->filter,
		.n_filters = o->n_filters,
		.blocklist = o->blocklist,
		.n_blocklists = o->n_blocklists,
	};
	return o->n_filters + o->n_blocklists > 0 ? paths : NULL;
}

/* As kv_trusted_open, but path may be relative. */
static enum kv_err
open_trusted(const char *path, uid_t owner, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	char *absolute = *path != '/' ? realpath(path, NULL) : NULL;
	const enum kv_err err = kv_trusted_open(
	    absolute != NULL ? absolute : path, owner, fdp, why);

	free(absolute);
	return err;
}

enum kv_err
cli_open_as_login(const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES], void *arg)
{
	(void)arg;
	return open_trusted(path, 0, fdp, why);
}

/* What writes a pipe, as --config <(COMMAND), may be slower than this. */
static void
wait_for_pipe(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
		(void)fcntl(fd, F_SETFL, 0);
}

/* Whether the file has the names of the sources of a list that is insecure. */
static bool
is_beside_insecure_list(const char *path, uid_t owner)
{
	const size_t len = strlen(path), end = strlen(KV_SOURCES_SUFFIX);
	char list[PATH_MAX], why[KV_TRUSTED_WHY_BYTES];
	enum kv_err err;
	int fd = -1;

	if (len < end || len - end >= sizeof(list) ||
	    strcmp(path + len - end, KV_SOURCES_SUFFIX) != 0)
		return false;
	snprintf(list, sizeof(list), "%.*s", (int)(len - end), path);
	err = open_trusted(list, owner, &fd, why);
	if (fd != -1)
		close(fd);
	return err != KV_OK;
}

/* A login is no matter of other users, whose own files do. */
enum kv_err
cli_open_with_warning(const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES], void *arg)
{
	const uid_t owner = geteuid();

	(void)arg;
	if (open_trusted(path, owner, fdp, why) == KV_OK)
		return KV_OK;
	*fdp = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (*fdp == -1) {
		snprintf(why, KV_TRUSTED_WHY_BYTES, "%.400s: %s", path,
		    strerror(errno));
		return KV_ERR_SYSTEM;
	}
	wait_for_pipe(*fdp);
	/* One warning is enough about a folder. */
	if (!is_beside_insecure_list(path, owner))
		cli_error("warning: %s: %s", why,
		    owner == 0 ? "a login would not trust this file" :
				 "other users may change this file");
	return KV_OK;
}

void
cli_judge_choose_config(struct cli_judge_options *o)
{
	if (o->config == NULL && access(KV_CONFIG_PATH, F_OK) == 0)
		o->config = KV_CONFIG_PATH;
}
