/* SPDX-License-Identifier: ISC */
/* keyveto check: which keys in these files are listed? */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "accounts/named.h"
#include "base/color.h"
#include "command.h"
#include "host/memory.h"
#include "reading/chosen.h"
#include "reading/reading.h"
#include "upkeep/own_list.h"

/*
 * Whether somebody hands over keys on standard input. Waits for the first byte,
 * or for the end. empty: a pipe or file with nothing in it counts, too.
 */
static bool
has_input(bool empty)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct stat st;
	int n = 0;

	if (fstat(STDIN_FILENO, &st) == -1)
		return false;
	if (S_ISREG(st.st_mode))
		return empty || st.st_size > 0;
	if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode))
		return false;
	if (empty)
		return true;
	while (poll(&p, 1, -1) == -1 && errno == EINTR)
		;
	return ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0;
}

/* Sets *pathp to this user's folder of keys. False after a message. */
static bool
find_own_keys(char **pathp)
{
	static char path[PATH_MAX];
	const char *home = own_home();

	if (home == NULL)
		return cli_error("there is no home directory: set HOME, or "
				 "name files or directories");
	snprintf(path, sizeof(path), "%s/.ssh", home);
	*pathp = path;
	return access(path, F_OK) == 0 || errno != ENOENT ||
	    cli_error("there is no %s: name files or directories", path);
}

/* Prints what is read and by what it is judged, since no argument says so. */
static void
report_choice(const char *path, const struct kv_judge *j)
{
	char *by = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&by, &len);

	if (out == NULL)
		return;
	for (size_t i = 0; i < j->n_filters; i++)
		if (j->filter[i].pkbf.fd != -1)
			fprintf(out, ", %s", j->filter[i].path);
	for (size_t i = 0; i < j->n_lists; i++)
		if (j->list[i].blocklist.fd != -1)
			fprintf(out, ", %s", j->list[i].path);
	if (fclose(out) == 0)
		cli_error("checking %s with %s", path,
		    len > 0 ? by + strlen(", ") : "no list");
	free(by);
}

/*
 * Sets *pathp to what is read without an operand: what is piped in, else this
 * user's keys, and *ownp. False after a message.
 */
static bool
choose_path(const struct cli_judge_options *o, char **pathp, bool *ownp)
{
	static char standard_input[] = "-";
	/* A script that says by what it judges, says what by the pipe. */
	const bool named = o->config != NULL ||
	    o->n_filters + o->n_blocklists > 0;

	*pathp = standard_input;
	*ownp = !has_input(named);
	return !*ownp || find_own_keys(pathp);
}

/*
 * Puts the operands that are a key's own text into standard input, which "-"
 * stands for. False after a message.
 */
static bool
take_key_texts(char **paths)
{
	static char standard_input[] = "-";
	char **left = paths;
	bool named = false;
	int fd = -1;

	for (char **path = paths; *path != NULL; path++) {
		char *word[] = { *path, NULL };

		named |= strcmp(*path, standard_input) == 0;
		if (!named_is_key_text(word)) {
			*left++ = *path;
			continue;
		}
		if (fd == -1) {
			fd = memory_file("keys");
			*left++ = standard_input;
		}
		if (fd == -1 || dprintf(fd, "%s\n", word[0]) < 0)
			return cli_failed("the key", "cannot be read");
	}
	*left = NULL;
	if (fd == -1)
		return true;
	if (named)
		return cli_error("give - or the text of a key, not both");
	return (lseek(fd, 0, SEEK_SET) == 0 && dup2(fd, STDIN_FILENO) != -1 &&
		   close(fd) == 0) ||
	    cli_failed("the key", "cannot be read");
}

static int
run_check(const struct cli_command *cmd, int argc, char **argv)
{
	struct report_options o = { 0 };
	struct chosen_reading files;
	struct judging judging;
	char why[WALL_WHY_BYTES];
	struct report r;
	struct progress progress;
	uint64_t total = 0;
	const char *color = NULL;
	char *chosen[] = { NULL, NULL }, **paths = chosen;
	bool weak = false, own = false, partly, ok;
	const struct cli_option options[] = {
		{ .name = "weak", .flag = &weak },
		{ .name = "color", .text = &color },
		REPORT_OPTIONS(o),
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, &o.judge);

	if (status != -1)
		return status;
	if (!color_choose(color))
		return cli_usage_error(cmd);
	if (optind < argc)
		paths = argv + optind;
	else if (!choose_path(&o.judge, &chosen[0], &own))
		return CLI_UNCHECKED;
	if (!take_key_texts(paths))
		return CLI_UNCHECKED;
	if (!own_list_add(&o.judge, o.quiet ? OWN_LIST_QUIETLY : 0))
		return CLI_UNCHECKED;
	for (char **path = paths; *path != NULL; path++)
		total += input_size(*path);
	files = (struct chosen_reading){
		.flags = (o.json ? READING_JSON : 0u) |
		    (o.all ? READING_ALL : 0u) |
		    (o.quiet ? READING_QUIET : 0u) | (weak ? READING_WEAK : 0u),
		.total = total,
		.quiet = o.quiet,
	};
	if (!chosen_open_partly(&judging, &o.judge, &files, &partly))
		return CLI_UNCHECKED;
	if (own && !o.quiet)
		report_choice(chosen[0], &judging.judge);
	report_init(&r, &judging.judge, &o);
	for (char **path = paths; *path != NULL; path++)
		if (strcmp(*path, "-") == 0 && isatty(STDIN_FILENO) == 1)
			cli_error("reading keys from standard input, up to "
				  "Ctrl-D");
	progress_start(&progress, "checking", total);
	/* --quiet prints nothing but errors. */
	if (o.quiet)
		progress.shown = false;
	ok = reading_run(&r, files.talk, paths, &progress);
	progress_clear(&progress);
	/* Without the reader's last words the totals are none. */
	if (ok && !o.quiet)
		report_summary(&r);
	/* What went wrong with the reader was said. */
	(void)judging_close(&judging, why);
	if (!cli_stdout_ok() || !ok)
		return CLI_UNCHECKED;
	return report_status(&r);
}

const struct cli_command cli_check = {
	.name = "check",
	.synopsis =
	    "[--json] [--all] [--quiet] [--weak] [--color WHEN] "
	    "[--config FILE] "
	    "[--filter FILE]... [--blocklist FILE]... [FILE|DIRECTORY|KEY|-]...",
	.help = "Tell which keys in files, directories or standard input are "
		"listed",
	.details = REPORT_HELP
	"  --weak           RSA keys that anybody factors, too\n" COLOR_HELP
	    CLI_JUDGE_HELP
	"Without a file: what is piped in, else your own ~/.ssh.\nThe text of a key in quotes is read as well.\n" REPORT_STATUS_HELP,
	.run = run_check,
};
