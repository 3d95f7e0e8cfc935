/* SPDX-License-Identifier: ISC */
/* keyveto update: replaces the filter by a newer one of its publisher. */
#include "update/update.h"

#include <sys/stat.h>

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>

#include <curl/curl.h>

#include "filter/filter.h"

#define SECONDS_A_DAY 86400

enum { OPT_SETTINGS = 2000, OPT_FORCE, OPT_DRY_RUN, OPT_QUIET, OPT_ROLLBACK };

static const struct option options[] = {
	CLI_JUDGE_LONGOPTS,
	{ "settings", required_argument, NULL, OPT_SETTINGS },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "rollback", no_argument, NULL, OPT_ROLLBACK },
	{ NULL, 0, NULL, 0 },
};

static volatile sig_atomic_t signal_caught;

static void
note_signal(int sig)
{
	signal_caught = sig;
}

static bool
was_signalled(void)
{
	return signal_caught != 0;
}

/* Signals only set a flag: the run ends itself and removes its files. */
static void
catch_signals(void)
{
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM };

	cli_catch_signals(ending, sizeof(ending) / sizeof(ending[0]),
	    note_signal);
	/* Let such a write(2) fail. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* --- going back --------------------------------------------------------- */

/*
 * Notes that the installed revision is rolled back, so that the next update
 * does not bring it back. Its ETag is kept, to learn when the server has
 * another one. If the previous filter has the later revision, the ETag is
 * forgotten: it is the older one's. All this is saved before the exchange,
 * since a run that is killed after it could not. If the exchange fails,
 * update_filter() ignores the notes: they do not fit the installed filter.
 */
static void
note_rollback(struct update *u, const struct filter_facts *facts,
    const struct stat *st)
{
	const struct update_installed *t = &u->installed;
	struct update_notes *s = &u->notes;

	if (!t->is_filter || t->header.revision <= facts->header.revision)
		update_notes_forget_installed(s);
	else if (s->unwanted < t->header.revision)
		s->unwanted = t->header.revision;
	update_notes_fit(s, st);
	update_notes_keep(t->place.dir, t->place.name, s);
}

static enum update_outcome
roll_back(struct update *u, int previous)
{
	const struct update_installed *t = &u->installed;
	struct filter_facts facts;
	struct stat st;

	if (!update_installed_judge(t->place.previous_name, previous,
		u->source.settings.max_rate, &facts) ||
	    fstat(previous, &st) == -1)
		return UPDATE_FAILED;
	if (u->options.dry_run) {
		update_report_replaced(u, &facts, "would be rolled back");
		return UPDATE_REPLACED;
	}
	note_rollback(u, &facts, &st);
	if (!update_installed_exchange(t, &u->replaced))
		return UPDATE_FAILED;
	update_report_replaced(u, &facts, "rolled back");
	return UPDATE_REPLACED;
}

static enum update_outcome
find_and_roll_back(struct update *u)
{
	int previous = update_installed_open_previous(&u->installed);
	enum update_outcome outcome = UPDATE_FAILED;

	/* A part of a newer filter stays for the next update. */
	u->keep_part = u->received.len > 0;
	if (previous != -1) {
		outcome = roll_back(u, previous);
		close(previous);
	}
	return outcome;
}

/* --- the command -------------------------------------------------------- */

static void
report_unchanged(const struct update *u)
{
	const struct update_installed *t = &u->installed;

	if (t->is_filter)
		cli_error("%s: stays as it is, revision %" PRIu32, t->path,
		    t->header.revision);
	else if (t->fd == -1)
		cli_error("%s: there is still no filter", t->path);
}

/*
 * Checks MaxAge. A server may hold back newer filters, which neither its
 * certificate nor a signature shows. False after a message.
 */
static bool
is_recent(const struct update *u)
{
	const struct kv_pkbf_header *h = &u->installed.header;
	uint64_t now = (uint64_t)time(NULL), days;

	if (u->source.settings.max_age == 0)
		return true;
	if (h->time > now && h->time - now > SECONDS_A_DAY) {
		cli_error(
		    "%s: its header's time is in the future, so MaxAge cannot "
		    "be checked: compare the clock of this machine with its "
		    "publisher's",
		    u->installed.path);
		return false;
	}
	days = now > h->time ? (now - h->time) / SECONDS_A_DAY : 0;
	if (days <= u->source.settings.max_age)
		return true;
	cli_error("%s: is %" PRIu64
		  " days old, more than MaxAge allows (%" PRIu64
		  "), and the server has no newer one: ask its publisher",
	    u->installed.path, days, u->source.settings.max_age);
	return false;
}

static enum update_outcome
update_filter(struct update *u, const char *path)
{
	struct update_installed *t = &u->installed;
	enum update_outcome outcome;

	if (!update_installed_open(t, path, u->options.force))
		return UPDATE_FAILED;
	/* After update_installed_open, which sets handlers, too. */
	catch_signals();
	if (!update_received_open(&u->received, t->place.dir, t->place.name,
		t->path))
		return UPDATE_FAILED;
	update_notes_load(t->place.dir, t->place.name, &u->notes);
	if (!t->is_filter || !update_notes_fits(&u->notes, &t->st))
		update_notes_forget_installed(&u->notes);
	/* It is installed again, or there is no filter to prefer to it. */
	if (!t->is_filter || u->notes.unwanted <= t->header.revision)
		u->notes.unwanted = -1;
	if (u->options.dry_run && !u->options.rollback)
		update_received_unname(&u->received);
	outcome = u->options.rollback ?
	    find_and_roll_back(u) :
	    update_install(u);
	update_received_close(&u->received, u->keep_part);
	if (outcome == UPDATE_CURRENT && !is_recent(u))
		outcome = UPDATE_FAILED;
	else if (u->replaced)
		filter_warn_if_distrusted(t->path);
	else if (outcome == UPDATE_FAILED)
		report_unchanged(u);
	update_installed_close(t);
	return outcome;
}

static bool
read_options(const struct cli_command *cmd, struct update_options *o, int argc,
    char **argv, int *statusp)
{
	int opt;

	*statusp = CLI_UNCHECKED;
	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		switch (opt) {
		case CLI_OPT_HELP:
			*statusp = cli_help(cmd);
			return false;
		case CLI_OPT_CONFIG:
		case CLI_OPT_FILTER:
			if (!cli_judge_option(&o->judge, opt, optarg))
				return false;
			break;
		case OPT_SETTINGS:
			o->settings_path = optarg;
			break;
		case OPT_FORCE:
			o->force = true;
			break;
		case OPT_DRY_RUN:
			o->dry_run = true;
			break;
		case OPT_QUIET:
			o->quiet = true;
			break;
		case OPT_ROLLBACK:
			o->rollback = true;
			break;
		default:
			return false;
		}
	}
	if (optind < argc)
		o->url = argv[optind++];
	if (optind < argc)
		cli_error("give one URL");
	else if (o->judge.n_filters > 1)
		cli_error("give one filter");
	else if (o->rollback && (o->url != NULL || o->force))
		cli_error("--rollback takes no URL and no --force");
	else
		return true;
	cli_usage_error(cmd);
	return false;
}

static int
run_update(const struct cli_command *cmd, int argc, char **argv)
{
	struct update u = { .unwanted = false };
	enum update_outcome outcome = UPDATE_FAILED;
	const char *path;
	int status;

	if (!read_options(cmd, &u.options, argc, argv, &status))
		return status;
	(void)umask(022);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		cli_error("libcurl cannot be started");
		return CLI_UNCHECKED;
	}
	if (update_source_open(&u.source, &u.options, was_signalled, &path))
		outcome = update_filter(&u, path);
	update_source_close(&u.source);
	curl_global_cleanup();
	if (signal_caught != 0 && outcome == UPDATE_FAILED)
		raise(signal_caught);
	return cli_stdout_ok() && outcome != UPDATE_FAILED ? 0 : CLI_UNCHECKED;
}

const struct cli_command cli_update = {
	.name = "update",
	.synopsis = "[--force] [--dry-run] [--quiet] [--settings FILE] "
		    "[--config FILE] "
		    "[--filter FILE] [URL | --rollback]",
	.help = "Fetch a newer filter, verify it, and install it",
	.details =
	    "URL is https://..., or the path of a file. The default is "
	    "URL of the\nsettings.\n\n"
	    "  --force          accept an older revision, or far fewer "
	    "entries; replace a\n"
	    "                   file that is not a filter\n"
	    "  --dry-run        fetch and verify, but change nothing\n"
	    "  --quiet          print only errors\n"
	    "  --settings FILE  keyveto-update.conf(5) (default " UPDATE_SETTINGS_PATH
	    ")\n"
	    "  --config FILE    update the first filter that FILE names\n"
	    "                   (default " KV_CONFIG_PATH ")\n"
	    "  --filter FILE    update FILE instead\n"
	    "  --rollback       exchange the filter and the one before it\n\n"
	    "Exit status: 0 if the filter was replaced or is current, else 2.\n"
	    "After a failure the installed filter is unchanged.\n",
	.run = run_update,
};
