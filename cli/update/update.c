/* SPDX-License-Identifier: ISC */
/* keyveto update: replaces filters and lists by newer ones of their publishers. */
#include "update/update.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/change.h"

#define SECONDS_A_DAY 86400

/* --- going back --------------------------------------------------------- */

static enum update_outcome
roll_back(struct update *u)
{
	const struct update_installed *t = &u->installed;
	const struct update_notes before = u->notes;
	enum update_outcome outcome = UPDATE_FAILED;
	int previous = update_installed_open_previous(t);
	struct stat st;

	if (previous == -1)
		return UPDATE_FAILED;
	if (!u->kind->read_previous(u, previous) ||
	    fstat(previous, &st) == -1 ||
	    !update_never_listed_allows(u, previous) ||
	    !update_brake_allows(u, previous, NULL))
		goto out;
	if (u->options->dry_run || !update_seen_roll_back(u, previous)) {
		outcome = u->options->dry_run ? UPDATE_REPLACED : UPDATE_FAILED;
		goto out;
	}
	outcome = UPDATE_REPLACED;
	/*
	 * The notes are saved before the exchange, since a run that is killed
	 * after it could not save them. One that is killed before it leaves
	 * notes that do not fit the installed file: the next run fetches that
	 * again, and corrects them.
	 */
	if (u->kind->note_rollback != NULL)
		u->kind->note_rollback(u);
	update_notes_fit(&u->notes, &st);
	update_keep_notes(u);
	if (!update_installed_exchange(t, &u->replaced) ||
	    (u->kind->complete_rollback != NULL &&
		!u->kind->complete_rollback(u)))
		outcome = UPDATE_FAILED;
	if (!u->replaced)
		update_notes_keep(t->place.dir, t->place.name, &before);
out:
	close(previous);
	return outcome;
}

/* --- whether it may take effect ----------------------------------------- */

/* Notes the keys in use that are listed newly, and what is held. */
static void
note_effect(struct update *u, const struct change_effect *e)
{
	struct update_notes *s = &u->notes;

	if (!e->consulted)
		return;
	u->told = e->keys > 0;
	if (!e->held || u->options->yes)
		s->in_use = (int64_t)e->keys;
	/* A rollback says nothing about a newer file that is kept away. */
	if (!u->options->rollback)
		s->held = !e->held || u->options->yes ? 0 :
		    e->accounts > 0		      ? (int64_t)e->accounts :
							1;
}

bool
update_brake_allows(struct update *u, int fd, const char *sources)
{
	const struct update_installed *t = &u->installed;
	const struct change c = {
		.kind = u->kind == &update_list_kind ? CHANGE_LIST :
						       CHANGE_FILTER,
		.path = t->path,
		.fd = fd,
		.sources = sources,
		.what = u->options->rollback ? "the previous one" :
					       "the new one",
		.via = "update",
		.config = u->options->judge.config,
		.hold = &u->source.settings.hold,
		.yes = u->options->yes,
		.dry_run = u->options->dry_run,
	};
	struct change_effect e;
	const bool may = change_may_take_effect(&c, &e);

	note_effect(u, &e);
	if (!may && e.held && !u->options->dry_run)
		update_keep_notes(u);
	return may;
}

/* --- what is noted, and put in place ------------------------------------ */

void
update_keep_notes(const struct update *u)
{
	const struct replace *place = &u->installed.place;

	update_notes_keep(place->dir, place->name, &u->notes);
}

bool
update_save_notes(struct update *u)
{
	const struct replace *place = &u->installed.place;

	if (u->options->dry_run ||
	    update_notes_save(place->dir, place->name, &u->notes))
		return true;
	progress_clear(&u->progress);
	return cli_error("%s: cannot write .%s.keyveto-update beside it: %s",
	    u->installed.path, place->name, strerror(errno));
}

enum update_outcome
update_put_in_place(struct update *u, struct stat *st)
{
	const struct update_installed *t = &u->installed;
	bool ok;

	if (u->source.limits.stopped()) {
		cli_error("%s: interrupted", u->source.from.shown);
		return UPDATE_FAILED;
	}
	if (u->options->dry_run)
		return UPDATE_REPLACED;
	/* From here on the handlers of host/replace end this on a signal. */
	ok = update_installed_replace(t, u->part.fd, st, &u->replaced);
	if (u->replaced)
		update_seen_keep(u);
	return ok ? UPDATE_REPLACED : UPDATE_FAILED;
}

/* --- one source --------------------------------------------------------- */

const char *
update_verb(const struct update *u)
{
	if (u->options->rollback)
		return u->options->dry_run ? "would be rolled back" :
					     "rolled back";
	if (u->options->dry_run)
		return "would be updated";
	return u->installed.is_good ? "updated" : "installed";
}

/* Prints what can be done where the free list cannot be fetched. */
static void
advise_settings(const struct update *u)
{
	const char *path = u->options->settings_path;

	if (u->source.own && path == NULL)
		cli_error("note: where a firewall stands, write \"Source "
			  "badkeys\" into a file, and below it a Proxy or the "
			  "URL of a mirror; then type: keyveto update "
			  "--settings FILE");
	else
		cli_error("note: where a firewall stands, put a Proxy or the "
			  "URL of a mirror below \"Source badkeys\" in %s",
		    update_conf_path(path));
}

/* Prints the result, unless with --quiet. Messages came before a failure. */
static void
report_outcome(const struct update *u, enum update_outcome outcome)
{
	const struct update_installed *t = &u->installed;
	char installed[128];

	if (outcome == UPDATE_FAILED && !u->replaced) {
		if (t->fd == -1 && u->list.text == -1 &&
		    !u->options->rollback &&
		    strcmp(u->source.settings.name, UPDATE_BADKEYS_NAME) == 0)
			advise_settings(u);
		u->kind->describe_installed(u, installed, sizeof(installed));
		if (t->is_good)
			cli_error("%s: stays as it is, %s", t->path, installed);
		else if (t->fd == -1)
			cli_error("%s: there is still no %s", t->path,
			    u->kind->what);
	}
	if (outcome == UPDATE_FAILED || u->options->quiet)
		return;
	cli_print_safe(stdout, t->path, strlen(t->path));
	u->kind->print_outcome(u, outcome);
}

/*
 * Checks MaxAge of the file that is in place now. A server may hold back newer
 * files, which neither its certificate nor a signature shows; it may also send
 * old ones in their order. False after a message.
 */
static bool
check_age(const struct update *u, enum update_outcome outcome)
{
	const struct update_settings *s = &u->source.settings;
	uint64_t now = (uint64_t)time(NULL), when, days;

	if (s->max_age == 0 ||
	    !u->kind->find_time(u, outcome == UPDATE_REPLACED, &when))
		return true;
	if (when > now && when - now > SECONDS_A_DAY)
		return cli_error(
		    "%s: %s is in the future, so MaxAge cannot be checked: "
		    "compare the clock of this machine with its publisher's",
		    u->installed.path, u->kind->time_name);
	days = now > when ? (now - when) / SECONDS_A_DAY : 0;
	if (days <= s->max_age)
		return true;
	return cli_error("%s: is %" PRIu64
			 " days old, more than MaxAge allows (%" PRIu64 ")%s",
	    u->installed.path, days, s->max_age,
	    u->options->rollback ?
		"" :
		", and the server has no newer one: ask its publisher");
}

/*
 * Prints a note if no login will consult the new list, because keyveto.conf does
 * not name it.
 */
static void
note_if_unused(struct update *u)
{
	const char *path = update_source_config_path(u->options);
	struct kv_config *c = &u->source.config;
	char why[KV_CONFIG_WHY_BYTES];
	bool ok;
	int fd;

	if (path != NULL) {
		kv_config_free(c);
		if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
			return;
		ok = kv_config_read(fd, path, c, why) == KV_OK;
		close(fd);
		if (!ok)
			return;
	}
	for (size_t i = 0; i < c->n_blocklists; i++)
		if (strcmp(c->blocklist[i], u->installed.path) == 0)
			return;
	cli_error("note: no login consults %s yet: add the line \"Blocklist "
		  "%s\" to %s, with keyveto config edit",
	    u->installed.path, u->installed.path,
	    path != NULL ? path : KV_CONFIG_PATH);
}

/*
 * Notes since when updates fail, for keyveto status: whatever keeps newer files
 * away, it is not forgotten with the message of one night.
 */
static void
note_failure(const struct update *u)
{
	const struct update_installed *t = &u->installed;
	struct update_notes s;

	if (u->options->dry_run || u->options->rollback || u->replaced)
		return;
	/* u->notes may have what is true of the new file only. */
	if ((!update_notes_load(t->place.dir, t->place.name,
		 t->is_good ? &t->st : NULL, &s) &&
		u->options->url != NULL) ||
	    s.failed_since != 0)
		return;
	s.failed_since = (int64_t)time(NULL);
	update_notes_keep(t->place.dir, t->place.name, &s);
}

/* Fetches or rolls back the file of u, whose source is open. */
static enum update_outcome
update_file(struct update *u, const char *path)
{
	struct update_installed *t = &u->installed;
	enum update_outcome outcome;
	bool recent;

	u->kind = u->source.settings.format == UPDATE_FORMAT_BADKEYS ?
	    &update_list_kind :
	    &update_filter_kind;
	if (!update_installed_open(t, path) || !u->kind->read_installed(u))
		return UPDATE_FAILED;
	/* After update_installed_open, which sets handlers, too. */
	cli_note_signals();
	/* Let such a write(2) fail. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (!update_part_open(&u->part, t->place.dir, t->place.name, t->path))
		return UPDATE_FAILED;
	(void)update_notes_load(t->place.dir, t->place.name,
	    t->is_good ? &t->st : NULL, &u->notes);
	outcome = u->options->rollback ? roll_back(u) : u->kind->install(u);
	if (outcome == UPDATE_CURRENT && !u->options->dry_run) {
		update_seen_keep_current(u);
		update_keep_notes(u);
	}
	progress_clear(&u->progress);
	if (outcome == UPDATE_FAILED)
		note_failure(u);
	update_part_close(&u->part);
	report_outcome(u, outcome);
	recent = outcome == UPDATE_FAILED || check_age(u, outcome);
	if (u->replaced)
		cli_warn_if_distrusted(t->path);
	if (u->replaced && !u->options->quiet && !u->source.own &&
	    u->kind == &update_list_kind)
		note_if_unused(u);
	if (outcome != UPDATE_FAILED && !u->options->rollback &&
	    u->kind->complete != NULL) {
		/* The handlers are those of host/replace now. */
		cli_note_signals();
		if (!u->kind->complete(u))
			outcome = UPDATE_FAILED;
	}
	return recent ? outcome : UPDATE_FAILED;
}

/* *toldp is set if the new file lists keys that are in use here. */
static enum update_outcome
update_one(const struct update_settings *settings,
    const struct update_options *o, bool *toldp)
{
	struct update *u = calloc(1, sizeof(*u));
	enum update_outcome outcome = UPDATE_FAILED;
	const char *path;

	if (u == NULL) {
		cli_error("out of memory");
		return UPDATE_FAILED;
	}
	u->options = o;
	u->installed.fd = u->installed.place.dir = u->installed.place.lock = -1;
	u->installed.place.old = u->installed.place.fd = -1;
	u->list.text = -1;
	if (update_source_open(&u->source, settings, o, cli_was_signalled,
		&path))
		outcome = update_file(u, path);
	*toldp |= u->told;
	update_installed_close(&u->installed);
	update_source_close(&u->source);
	if (u->list.text != -1)
		close(u->list.text);
	free(u);
	return outcome;
}

/* --- the command -------------------------------------------------------- */

/* Updates the sources that are named, else all of them. */
static enum update_outcome
update_sources(const struct update_conf *c, const struct update_options *o,
    bool *toldp)
{
	enum update_outcome worst = UPDATE_REPLACED, outcome;
	/* A file of sections only has no source without a name. */
	const size_t first = c->n > 1 && c->source[0].url == NULL ? 1 : 0;
	/* An operand or --filter is about the source without a name. */
	const bool one = o->url != NULL || o->judge.n_filters > 0;
	const size_t all = one ? 1 : c->n - first;
	const size_t n = o->n_sources > 0 ? o->n_sources : all;
	struct update_settings s;

	if (o->rollback && n > 1) {
		cli_error("--rollback needs one --source NAME, because there "
			  "are several sources");
		return UPDATE_FAILED;
	}
	for (size_t i = 0; i < n && !cli_was_signalled(); i++) {
		const char *name = o->n_sources > 0 ?
		    o->source[i] :
		    c->source[one ? 0 : first + i].name;

		if (!update_conf_find(c, name, &s)) {
			cli_error("%s has no Source %s",
			    update_conf_path(o->settings_path), name);
			worst = UPDATE_FAILED;
			continue;
		}
		outcome = update_one(&s, o, toldp);
		worst = outcome == UPDATE_FAILED ? UPDATE_FAILED : worst;
	}
	return cli_was_signalled() ? UPDATE_FAILED : worst;
}

/* Reads the settings; those that only root may read are not for others. */
static bool
read_settings(const char *path, struct update_conf *c)
{
	if (path == NULL && geteuid() != 0 &&
	    access(UPDATE_SETTINGS_PATH, R_OK) == -1 && errno == EACCES) {
		cli_error("note: %s cannot be read by you, and does not count",
		    UPDATE_SETTINGS_PATH);
		update_conf_defaults(c);
		return true;
	}
	return update_conf_read(path, c);
}

/*
 * Chooses the free list, if neither the caller nor the settings say what else to
 * fetch. Root's --rollback is of the first filter of keyveto.conf.
 */
static void
choose_free_list(const struct update_conf *c, struct update_options *o)
{
	const struct update_settings *top = &c->source[0];

	/* Whoever names a target or signers means a source of his own. */
	if (c->n > 1 || top->url != NULL || top->target != NULL ||
	    top->allowed_signers != NULL || top->signature_url != NULL ||
	    top->format != UPDATE_FORMAT_PKBF)
		return;
	if (o->n_sources > 0 || o->url != NULL ||
	    (geteuid() == 0 && o->rollback) || o->settings_path != NULL ||
	    o->judge.config != NULL ||
	    o->judge.n_filters + o->judge.n_blocklists > 0)
		return;
	o->source[o->n_sources++] = UPDATE_BADKEYS_NAME;
}

static int
run_update(const struct cli_command *cmd, int argc, char **argv)
{
	static struct update_conf conf;
	struct update_options given = { .force = false }, *o = &given;
	const struct cli_option options[] = {
		{ .name = "settings", .text = &o->settings_path },
		{ .name = "source",
		    .text = o->source,
		    .n = &o->n_sources,
		    .max = UPDATE_SOURCES_MAX,
		    .what = "sources" },
		{ .name = "lookup", .flag = &o->lookup },
		{ .name = "force", .flag = &o->force },
		{ .name = "dry-run", .flag = &o->dry_run },
		{ .name = "quiet", .flag = &o->quiet },
		{ .name = "yes", .flag = &o->yes },
		{ .name = "rollback", .flag = &o->rollback },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options,
	    &o->judge);
	enum update_outcome outcome = UPDATE_FAILED;
	const char *mistake = NULL;
	bool told = false;

	if (status != -1)
		return status;
	if (optind < argc)
		o->url = argv[optind++];
	if (optind < argc)
		mistake = "give one URL";
	else if (o->judge.n_filters > 1)
		mistake = "give one filter";
	else if (o->judge.n_blocklists > 1)
		mistake = "give one list";
	else if (o->judge.n_filters > 0 && o->judge.n_blocklists > 0)
		mistake = "give --filter or --blocklist, not both";
	else if (o->judge.n_blocklists > 0 && o->n_sources == 0)
		mistake = "--blocklist needs --source NAME";
	else if (o->n_sources > 1 &&
	    (o->url != NULL || o->judge.n_filters > 0 ||
		o->judge.n_blocklists > 0))
		mistake = "a URL or a file goes with one --source only";
	else if (o->rollback && (o->url != NULL || o->force || o->lookup))
		mistake = "--rollback takes no URL, no --force and no --lookup";
	if (mistake != NULL)
		return cli_wrong_usage(cmd, mistake);
	(void)umask(022);
	if (read_settings(o->settings_path, &conf)) {
		choose_free_list(&conf, o);
		outcome = update_sources(&conf, o, &told);
	}
	update_conf_free(&conf);
	if (cli_was_signalled() && outcome == UPDATE_FAILED)
		raise(cli_noted_signal());
	if (!cli_stdout_ok() || outcome == UPDATE_FAILED)
		return CLI_UNCHECKED;
	return told ? CLI_LISTED : CLI_NOTHING_LISTED;
}

const struct cli_command cli_update = {
	.name = "update",
	.synopsis = "[--source NAME]... [--lookup] [--force] [--dry-run] "
		    "[--quiet] [--yes] [--settings FILE] [--config FILE] "
		    "[--filter FILE | --blocklist FILE] [URL | --rollback]",
	.help = "Fetch newer filters and exact lists, verify and install them",
	.details =
	    "  --source NAME    only this source; may repeat\n"
	    "  --lookup         fetch the file that says where the private "
	    "halves lie, too\n"
	    "  --force          accept what is older, was rolled back, or "
	    "lacks keys\n"
	    "  --dry-run        fetch and verify, but change nothing\n"
	    "  --quiet          print only errors\n"
	    "  --yes            install it although it refuses keys that are "
	    "in use here\n"
	    "  --settings FILE  keyveto-update.conf(5) (default "
	    "" UPDATE_SETTINGS_PATH ")\n"
	    "  --config FILE    update the first filter that FILE names\n"
	    "  --filter FILE    update FILE instead\n"
	    "  --blocklist FILE the same for an exact list, with --source\n"
	    "  --rollback       exchange the file and the one before it\n"
	    "Without an argument, and without a URL or Source in the settings: "
	    "the free\nlist, as " UPDATE_BADKEYS_TARGET "; not as root, "
	    "below ~/.cache/keyveto.\n",
	.run = run_update,
};
