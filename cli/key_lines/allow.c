/* SPDX-License-Identifier: ISC */
/* keyveto allow: adds, changes or removes an AllowKey line of keyveto.conf. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "key_lines/key_lines.h"
#include "ways/asks.h"

#define DAY_SECONDS 86400

/* Adds the key: a fingerprint, or a file with one key. False after a message. */
static bool
add_key(struct key_lines *q, const char *key)
{
	if (strncmp(key, "SHA256:", 7) == 0)
		return key_lines_add_fingerprint(q, key);
	if (!key_lines_add_file(q, key, -1))
		return false;
	if (q->n == 1)
		return true;
	return cli_error("%s: %zu SSH keys in it; give the fingerprint of one, "
			 "as ssh-keygen -l prints it",
	    key, q->n);
}

/* Checks the date as keyveto.conf's parser does. False after a message. */
static bool
check_date(const char *date)
{
	int64_t until;

	if (!kv_config_read_date(date, &until))
		return cli_error("--until takes a date, YYYY-MM-DD, not %s",
		    date);
	if (until >= (int64_t)time(NULL) / DAY_SECONDS)
		return true;
	return cli_error("--until %s: that day is past", date);
}

static void
print_done(const struct key_lines *q)
{
	const char *fingerprint = q->key[0].fingerprint;
	const struct asks *asks = asks_sshd(q->config);

	key_lines_print_before(q);
	if (q->remove) {
		printf("%s%s is judged as any other key%s\n", asks->where,
		    fingerprint, asks->when);
		asks_print_note(asks);
		return;
	}
	printf("%s%s is let in%s, %s%s%s; each use is logged\n", asks->where,
	    fingerprint, asks->when, q->date != NULL ? "through " : "for ever",
	    q->date != NULL ? q->date : "", q->date != NULL ? " (UTC)" : "");
	asks_print_note(asks);
	key_lines_print_undo(q, fingerprint);
}

/* Reads the arguments after the options. False after a message. */
static bool
read_arguments(struct key_lines *q, bool forever, int n, char **word)
{
	if (n == 0)
		return cli_error(
		    "allow needs a fingerprint, or a file with a key");
	if (q->remove && (q->date != NULL || forever || n > 1))
		return cli_error(
		    "--remove takes a fingerprint, and nothing else");
	if (forever && q->yes)
		return cli_error("--yes goes with --until or --remove");
	if (!q->remove && (q->date != NULL) == forever)
		return cli_error(
		    "say until when: --until YYYY-MM-DD, or --forever");
	if (!add_key(q, word[0]) || (q->date != NULL && !check_date(q->date)) ||
	    !key_lines_set_reason(q, word + 1, n - 1))
		return false;
	if (q->remove || q->reason[0] != '\0')
		return true;
	return cli_error(
	    "give a reason: it is written beside the key, and to the log "
	    "whenever the key is used");
}

static int
run_allow(const struct cli_command *cmd, int argc, char **argv)
{
	struct key_lines q = { .config = KV_CONFIG_PATH };
	bool forever = false;
	const struct cli_option options[] = {
		{ .name = "until", .text = &q.date },
		{ .name = "forever", .flag = &forever },
		{ .name = "remove", .flag = &q.remove },
		{ .name = "yes", .flag = &q.yes },
		{ .name = "config", .text = &q.config },
		{ .name = NULL },
	};
	int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	status = CLI_UNCHECKED;
	if (!read_arguments(&q, forever, argc - optind, argv + optind))
		status = cli_usage_error(cmd);
	else if (key_lines_apply(&q)) {
		if (q.same)
			printf("%s is let in already: the line is there\n",
			    q.key[0].fingerprint);
		else
			print_done(&q);
		status = cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	key_lines_free(&q);
	return status;
}

const struct cli_command cli_allow = {
	.name = "allow",
	.section = 8,
	.synopsis = "(--until DATE [--yes] | --forever | --remove [--yes]) "
		    "[--config FILE] "
		    "KEY [REASON...]",
	.help = "Let a key in although it is listed, until a date",
	.details = "  --until DATE     through that day, YYYY-MM-DD (UTC)\n"
		   "  --forever        without an end\n"
		   "  --remove         take the line of KEY out again\n"
		   "  --yes            although it may lock out root or an "
		   "administrator\n"
		   "  --config FILE    change FILE (default " KV_CONFIG_PATH
		   ")\n",
	.run = run_allow,
};
