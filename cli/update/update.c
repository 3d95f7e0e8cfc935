/* SPDX-License-Identifier: ISC */
/* keyveto update: replaces the filter by a newer one of its publisher. */
#include "update/update.h"

#include <sys/stat.h>

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "filter/filter.h"

#define SECONDS_A_DAY 86400

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

/* --- going back --------------------------------------------------------- */

static enum update_outcome
roll_back(struct update *u)
{
	const struct update_installed *t = &u->installed;
	struct update_notes *s = &u->notes;
	enum update_outcome outcome = UPDATE_FAILED;
	int previous = update_installed_open_previous(t);
	struct stat st;

	/* A part of a newer filter stays for the next update. */
	u->keep_part = u->received.len > 0;
	if (previous == -1)
		return UPDATE_FAILED;
	if (!update_installed_judge(t->place.previous_name, previous,
		u->source.settings.max_rate, &u->fresh) ||
	    fstat(previous, &st) == -1)
		goto out;
	outcome = UPDATE_REPLACED;
	if (u->options.dry_run)
		goto out;
	/*
	 * Note that the installed revision is rolled back, so that the next
	 * update does not bring it back. Its ETag is kept, to learn when the
	 * server has another one. If the previous filter has the later
	 * revision, the ETag is forgotten: it is the older one's. All this is
	 * saved before the exchange, since a run that is killed after it could
	 * not. If the exchange fails, update_filter() ignores the notes: they
	 * do not fit the installed filter.
	 */
	if (!t->is_filter || t->header.revision <= u->fresh.header.revision)
		update_notes_forget_installed(s);
	else if (s->unwanted < t->header.revision)
		s->unwanted = t->header.revision;
	update_notes_fit(s, &st);
	update_notes_keep(t->place.dir, t->place.name, s);
	if (!update_installed_exchange(t, &u->replaced))
		outcome = UPDATE_FAILED;
out:
	close(previous);
	return outcome;
}

/* --- the command -------------------------------------------------------- */

/* Prints the result, unless with --quiet. Messages came before a failure. */
static void
report_outcome(const struct update *u, enum update_outcome outcome)
{
	const struct update_installed *t = &u->installed;
	const struct filter_facts *f = &u->fresh;
	uint32_t revision = t->header.revision;
	const char *verb;

	if (outcome == UPDATE_FAILED && !u->replaced) {
		if (t->is_filter)
			cli_error("%s: stays as it is, revision %" PRIu32,
			    t->path, revision);
		else if (t->fd == -1)
			cli_error("%s: there is still no filter", t->path);
	}
	if (outcome == UPDATE_FAILED || u->options.quiet)
		return;
	cli_print_safe(stdout, t->path, strlen(t->path));
	if (outcome == UPDATE_CURRENT && u->notes.unwanted > revision) {
		printf(": stays at revision %" PRIu32 ": revision %" PRId64
		       " was rolled back, and only a later one is installed "
		       "(or that one, by --force)\n",
		    revision, u->notes.unwanted);
		return;
	}
	if (outcome == UPDATE_CURRENT) {
		printf(": already current, revision %" PRIu32 "\n", revision);
		return;
	}
	if (u->options.rollback)
		verb = u->options.dry_run ? "would be rolled back" :
					    "rolled back";
	else if (u->options.dry_run)
		verb = "would be updated";
	else
		verb = t->is_filter ? "updated" : "installed";
	printf(": %s, revision ", verb);
	if (t->is_filter)
		printf("%" PRIu32 " -> ", revision);
	printf("%" PRIu32 ", %" PRIu32 " %s, %.3g%% of the bits set, false "
	       "positives %.3g\n",
	    f->header.revision, f->header.entries,
	    cli_plural(f->header.entries, "entry", "entries"), f->share * 100,
	    f->rate_by_bits);
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
	static const int ending[] = { SIGHUP, SIGINT, SIGTERM };
	struct update_installed *t = &u->installed;
	enum update_outcome outcome;

	if (!update_installed_open(t, path, u->options.force))
		return UPDATE_FAILED;
	/*
	 * After update_installed_open, which sets handlers, too. These only set
	 * a flag: the run ends itself and removes its files.
	 */
	cli_catch_signals(ending, sizeof(ending) / sizeof(ending[0]),
	    note_signal);
	/* Let such a write(2) fail. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!update_received_open(&u->received, t->place.dir, t->place.name,
		t->path))
		return UPDATE_FAILED;
	update_notes_load(t->place.dir, t->place.name,
	    t->is_filter ? &t->st : NULL, &u->notes);
	/* It is installed again, or there is no filter to prefer to it. */
	if (!t->is_filter || u->notes.unwanted <= t->header.revision)
		u->notes.unwanted = -1;
	if (u->options.dry_run && !u->options.rollback)
		update_received_unname(&u->received);
	outcome = u->options.rollback ? roll_back(u) : update_install(u);
	update_received_close(&u->received, u->keep_part);
	report_outcome(u, outcome);
	if (outcome == UPDATE_CURRENT && !is_recent(u))
		outcome = UPDATE_FAILED;
	else if (u->replaced)
		cli_warn_if_distrusted(t->path);
	update_installed_close(t);
	return outcome;
}

static int
run_update(const struct cli_command *cmd, int argc, char **argv)
{
	enum { SETTINGS = 1 };
	struct update u = { .unwanted = false };
	struct update_options *o = &u.options;
	const struct option options[] = {
		CLI_JUDGE_LONGOPTS,
		{ "settings", required_argument, NULL, SETTINGS },
		{ "force", no_argument, &o->force, true },
		{ "dry-run", no_argument, &o->dry_run, true },
		{ "quiet", no_argument, &o->quiet, true },
		{ "rollback", no_argument, &o->rollback, true },
		{ NULL, 0, NULL, 0 },
	};
	enum update_outcome outcome = UPDATE_FAILED;
	const char *path, *mistake = NULL;
	int opt;

	while ((opt = cli_getopt(cmd, argc, argv, options)) != -1) {
		if (opt == CLI_OPT_HELP)
			return cli_help(cmd);
		if (opt == SETTINGS)
			o->settings_path = optarg;
		else if (opt == CLI_OPT_CONFIG || opt == CLI_OPT_FILTER) {
			if (!cli_judge_option(&o->judge, opt, optarg))
				return CLI_UNCHECKED;
		} else if (opt != 0)
			return CLI_UNCHECKED;
	}
	if (optind < argc)
		o->url = argv[optind++];
	if (optind < argc)
		mistake = "give one URL";
	else if (o->judge.n_filters > 1)
		mistake = "give one filter";
	else if (o->rollback && (o->url != NULL || o->force))
		mistake = "--rollback takes no URL and no --force";
	if (mistake != NULL) {
		cli_error("%s", mistake);
		return cli_usage_error(cmd);
	}
	(void)umask(022);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		cli_error("libcurl cannot be started");
		return CLI_UNCHECKED;
	}
	if (update_source_open(&u.source, o, was_signalled, &path))
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
