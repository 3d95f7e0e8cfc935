/* SPDX-License-Identifier: ISC */
/*
 * What keyveto update noted: whether it keeps a newer file away; and whether
 * anything starts it.
 */
#include "doctor/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/program.h"
#include "host/replace.h"
#include "host/sshd_process.h"
#include "host/system_file.h"
#include "published/sources.h"
#include "upkeep/settings.h"

#define FAILED_SECONDS ((int64_t)2 * 86400)
#define SILENT_DAYS 30
#define SYSTEMD "/run/systemd/system" /* sd_booted(3) */
#define SYSTEMCTL "/usr/bin/systemctl"
#define TIMER "keyveto-update.timer"

/* False if keyveto update noted nothing of the file at path. */
static bool
load_notes(const char *path, struct update_notes *notes)
{
	const char *slash = strrchr(path, '/');
	struct replace place;
	char *dir;
	bool found;

	/* replace_find prints a message if the directory is missing. */
	if (slash == NULL ||
	    asprintf(&dir, "%.*s", (int)(slash + 1 - path), path) == -1)
		return false;
	found = access(dir, F_OK) == 0 && replace_find(&place, path);
	free(dir);
	if (!found)
		return false;
	found = update_notes_load(place.dir, place.name, NULL, notes);
	replace_close(&place);
	return found;
}

/* The path of filter or list i of keyveto.conf; NULL if there are not so many. */
static const char *
path_of(const struct kv_config *c, size_t i)
{
	if (i < c->n_filters)
		return c->filter[i];
	i -= c->n_filters;
	return i < c->n_blocklists ? c->blocklist[i] : NULL;
}

bool
doctor_next_notes(const struct doctor *d, size_t *next, const char **pathp,
    struct update_notes *notes)
{
	const struct kv_config *c = &d->judging.judge.config;

	while ((*pathp = path_of(c, *next)) != NULL) {
		bool seen = false;

		for (size_t i = 0; i < *next && !seen; i++)
			seen = strcmp(path_of(c, i), *pathp) == 0;
		(*next)++;
		if (!seen && load_notes(*pathp, notes))
			return true;
	}
	return false;
}

static void
find_held(struct doctor *d, const char *path)
{
	doctor_add(d, DOCTOR_WARNING,
	    "keyveto update --dry-run says which keys; have them "
	    "replaced and run keyveto update, or let the newer one in "
	    "with --yes",
	    "%s: a newer one is kept away, since it would refuse keys "
	    "that are in use (HoldIfRefused)",
	    path);
}

static void
find_rolled_back(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char revision[64] = "";

	if (notes->unwanted >= 0)
		snprintf(revision, sizeof(revision), " from revision %" PRId64,
		    notes->unwanted);
	doctor_add(d, DOCTOR_WARNING,
	    "ask its publisher for another one; keyveto update installs that "
	    "by itself, and the one that was rolled back with --force",
	    "%s: was rolled back%s, and no update has found another one since",
	    path, revision);
}

static bool
has_expired(const struct update_notes *notes)
{
	return notes->expires != 0 && (int64_t)time(NULL) > notes->expires;
}

static void
find_expired(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char date[UPDATE_DATE_BYTES];

	update_sources_date(notes->expires, date);
	doctor_add(d, DOCTOR_WARNING,
	    "run keyveto update, and look at its timer; if it finds no newer "
	    "one, ask the publisher",
	    "%s: the manifest of its publisher expired at %s: somebody may be "
	    "holding newer files back",
	    path, date);
}

/* Whether no update has succeeded for days. One night may be the network's. */
static bool
has_failed(const struct update_notes *notes)
{
	return notes->failed_since != 0 && notes->held == 0 &&
	    notes->rolled_back == 0 && !has_expired(notes) &&
	    (int64_t)time(NULL) > notes->failed_since + FAILED_SECONDS;
}

static void
find_failed(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char date[UPDATE_DATE_BYTES];

	update_sources_date(notes->failed_since, date);
	doctor_add(d, DOCTOR_WARNING,
	    "run keyveto update --dry-run, which says why, and what to do",
	    "%s: no update of it has succeeded since one failed at %s", path,
	    date);
}

/*
 * Whether the source was not asked with success for long, of which nothing else
 * tells: perhaps nothing asks.
 */
static bool
is_silent(const struct update_notes *notes)
{
	return notes->asked != 0 && notes->held == 0 &&
	    notes->rolled_back == 0 && !has_expired(notes) &&
	    !has_failed(notes) &&
	    (int64_t)time(NULL) >= notes->asked + SILENT_DAYS * 86400;
}

static void
find_silent(struct doctor *d, const char *path,
    const struct update_notes *notes)
{
	char date[UPDATE_DATE_BYTES];

	update_sources_date(notes->asked, date);
	doctor_add(d, DOCTOR_WARNING,
	    "run keyveto update, and look at what starts it",
	    "%s: its source was last asked for a newer one at %s, %d days ago "
	    "or more",
	    path, date, SILENT_DAYS);
}

enum cron { CRON_NONE, CRON_UPDATES, CRON_UPDATES_NAMED };

/*
 * Whether a line of a crontab runs keyveto update, and whether it names what to
 * fetch. One that begins by asking for systemd, as that of packaging/cron, does
 * so only where systemd is not.
 */
static enum cron
runs_update(const char *line, bool systemd)
{
	const size_t n = strcspn(line, "\n");
	const char *update;
	char text[4096];

	if (line[strspn(line, " \t")] == '#' || n >= sizeof(text))
		return CRON_NONE;
	memcpy(text, line, n);
	text[n] = '\0';
	update = strstr(text, "keyveto update");
	if (update == NULL || (systemd && strstr(text, SYSTEMD) != NULL))
		return CRON_NONE;
	/* Another command may follow. */
	text[strcspn(update, ";&|") + (size_t)(update - text)] = '\0';
	if (strstr(update, "--dry-run") != NULL ||
	    strstr(update, "--rollback") != NULL)
		return CRON_NONE;
	return strstr(update, "--source") != NULL ||
		strstr(update, "--settings") != NULL ||
		strstr(update, "://") != NULL ?
	    CRON_UPDATES_NAMED :
	    CRON_UPDATES;
}

/* Whether cron runs keyveto update: the best of all lines. */
static enum cron
find_cron(bool systemd)
{
	static const char *const patterns[] = { "/etc/crontab", "/etc/cron.d/*",
		"/etc/cron.hourly/*", "/etc/cron.daily/*", "/etc/cron.weekly/*",
		"/var/spool/cron/crontabs/root", "/var/spool/cron/root" };
	enum cron best = CRON_NONE, one;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t files;

		if (glob(patterns[i], 0, NULL, &files) != 0)
			continue;
		for (size_t j = 0; j < files.gl_pathc; j++) {
			size_t len;
			char *text = system_file_read(files.gl_pathv[j], &len);

			for (const char *p = text; p != NULL && *p != '\0';
			     p += strcspn(p, "\n"), p += *p == '\n')
				if ((one = runs_update(p, systemd)) > best)
					best = one;
			free(text);
		}
		globfree(&files);
	}
	return best;
}

/*
 * Whether a cron daemon runs. True if the processes cannot be seen, or if
 * something that needs no daemon reads crontabs.
 */
static bool
has_cron_daemon(void)
{
	static const char *const names[] = { "cron\n", "crond\n", "fcron\n",
		"bcron-sched\n" };
	DIR *dir = opendir("/proc");
	bool found = dir == NULL || access("/proc/1", F_OK) == -1 ||
	    access("/usr/sbin/anacron", F_OK) == 0 ||
	    access("/usr/lib/systemd/system-generators/"
		   "systemd-crontab-generator",
		F_OK) == 0;
	const struct dirent *e;
	char name[64];

	while (!found && (e = readdir(dir)) != NULL)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			found |= e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
			    sshd_process_read(e->d_name, "comm", name,
				sizeof(name)) &&
			    strcmp(name, names[i]) == 0;
	if (dir != NULL)
		closedir(dir);
	return found;
}

/* Whether the timer is on now, and after the next start of the machine. */
static bool
timer_is(const char *state)
{
	const char *const argv[] = { SYSTEMCTL, "--quiet", state, TIMER, NULL };
	struct program systemctl = { .argv = argv };
	int status;

	program_fds(&systemctl, PROGRAM_NULL, PROGRAM_NULL, PROGRAM_NULL);
	return program_run(&systemctl, &status) == 0 && status == 0;
}

/* Parses update.conf. False after a finding. */
static bool
read_settings(struct doctor *d, struct update_conf *c)
{
	char why[UPDATE_SETTINGS_WHY_BYTES];
	size_t len;
	char *text;
	bool ok;

	update_conf_defaults(c);
	if (access(UPDATE_SETTINGS_PATH, F_OK) == -1 && errno == ENOENT)
		return true;
	if ((text = system_file_read(UPDATE_SETTINGS_PATH, &len)) == NULL) {
		doctor_add(d, DOCTOR_WARNING, "run keyveto status as root",
		    UPDATE_SETTINGS_PATH ": %s", strerror(errno));
		return false;
	}
	ok = update_conf_parse(text, len, UPDATE_SETTINGS_PATH, c, why);
	free(text);
	if (!ok)
		doctor_add(d, DOCTOR_WARNING,
		    "correct that line; until then nothing is updated",
		    "%s: keyveto update cannot read its settings", why);
	return ok;
}

/* Whether keyveto update without arguments fetches the file at path. */
static bool
is_followed(const struct doctor *d, const struct update_conf *c,
    const char *path)
{
	const struct update_settings *top = &c->source[0];
	const struct kv_config *config = &d->judging.judge.config;

	for (size_t i = 1; i < c->n; i++)
		if (c->source[i].target != NULL &&
		    strcmp(c->source[i].target, path) == 0)
			return true;
	if (top->url == NULL)
		return c->n == 1 && strcmp(path, UPDATE_BADKEYS_TARGET) == 0;
	return top->target != NULL ?
	    strcmp(top->target, path) == 0 :
	    config->n_filters > 0 && strcmp(config->filter[0], path) == 0;
}

/*
 * Warns if nothing starts keyveto update, although one of the files comes from
 * it. Files of another origin are kept current by whoever makes them.
 */
static void
check_starter(struct doctor *d)
{
	const bool systemd = access(SYSTEMD, F_OK) == 0;
	bool followed = false, fetched = false, timer, daemon = false;
	const char *path = NULL;
	struct update_notes notes;
	struct update_conf c;
	enum cron cron;

	if (read_settings(d, &c))
		for (size_t i = 0; !fetched; i++) {
			path = path_of(&d->judging.judge.config, i);
			if (path == NULL)
				break;
			followed = is_followed(d, &c, path);
			fetched = followed || load_notes(path, &notes);
		}
	update_conf_free(&c);
	if (!fetched)
		return;
	if ((cron = find_cron(systemd)) != CRON_NONE)
		daemon = has_cron_daemon();
	timer = systemd && timer_is("is-active") && timer_is("is-enabled");
	if (!timer && cron == CRON_NONE)
		doctor_add(d, DOCTOR_WARNING,
		    systemd ? "systemctl enable --now " TIMER :
			      "have cron run keyveto update each day: copy "
			      "/usr/share/keyveto/cron/keyveto-update to "
			      "/etc/cron.d",
		    "%sno line of cron runs keyveto update: nobody keeps %s "
		    "current",
		    systemd ? TIMER " is off, and " : "", path);
	else if (!timer && !daemon)
		doctor_add(d, DOCTOR_WARNING,
		    "install and start one, such as that of Debian's package "
		    "cron",
		    "a line of cron runs keyveto update, but no cron daemon "
		    "was seen: nobody keeps %s current",
		    path);
	else if (!followed && (cron != CRON_UPDATES_NAMED || !daemon))
		doctor_add(d, DOCTOR_WARNING,
		    "name its source there, such as Source badkeys",
		    "no source in " UPDATE_SETTINGS_PATH " fetches %s, as "
		    "keyveto update did once: nobody keeps it current",
		    path);
}

void
doctor_update(struct doctor *d)
{
	struct update_notes notes;
	const char *path;
	bool any = false;

	check_starter(d);
	for (size_t i = 0; doctor_next_notes(d, &i, &path, &notes);) {
		if (notes.held != 0)
			find_held(d, path);
		if (notes.rolled_back != 0)
			find_rolled_back(d, path, &notes);
		if (has_expired(&notes))
			find_expired(d, path, &notes);
		if (has_failed(&notes))
			find_failed(d, path, &notes);
		if (is_silent(&notes))
			find_silent(d, path, &notes);
		any |= notes.held != 0 || notes.rolled_back != 0 ||
		    has_expired(&notes) || has_failed(&notes) ||
		    is_silent(&notes);
	}
	if (!any && doctor_status(d, d->check) == DOCTOR_OK)
		doctor_add(d, DOCTOR_OK, NULL,
		    "no newer filter or list is kept away by HoldIfRefused or "
		    "a rollback, and no manifest has expired");
}
