/* SPDX-License-Identifier: ISC */
/*
 * update/brake: audits the accounts with a new filter or list before it takes
 * effect, so that no update locks out an administrator in the night.
 */
#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "host/io.h"
#include "kv_log.h"
#include "update/hold.h"
#include "update/update.h"

/* The new file, under the name of the old one. */
struct fresh {
	const char *path;
	int fd, sources; /* sources: -1 if there are none */
};

static enum kv_err
open_fresh(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const struct fresh *f = arg;
	const size_t len = strlen(f->path);
	int fd = -1;

	if (strcmp(path, f->path) == 0)
		fd = f->fd;
	else if (strncmp(path, f->path, len) == 0 &&
	    strcmp(path + len, KV_SOURCES_SUFFIX) == 0)
		fd = f->sources;
	else
		return cli_open_as_login(path, fdp, why, NULL);
	*fdp = fd != -1 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (*fdp != -1)
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.400s: %s", path,
	    strerror(errno));
	return KV_ERR_SYSTEM;
}

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether path, which may have links in it, stands for the file to replace. */
static bool
is_target(const struct update_installed *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	struct stat st;

	if (t->fd != -1 && stat(path, &st) == 0 && is_same_file(&st, &t->st))
		return true;
	if (slash == NULL || strcmp(slash + 1, t->place.name) != 0 ||
	    (size_t)(slash - path) + 2 > sizeof(dir))
		return false;
	snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	return stat(dir, &st) == 0 && is_same_file(&st, &t->place.dir_st);
}

/* Whether logins consult the file. */
static bool
is_consulted(const struct update_installed *t, const struct kv_judge *now)
{
	/* It cannot be told which files logins consult. */
	if (now->broken[0] != '\0')
		return true;
	for (size_t i = 0; i < now->n_filters; i++)
		if (is_target(t, now->filter[i].path))
			return true;
	for (size_t i = 0; i < now->n_lists; i++)
		if (is_target(t, now->list[i].path))
			return true;
	return false;
}

/* Whether logins may consult it soon. */
static bool
is_in_state_folder(const struct update_installed *t)
{
	static const char folder[] = KV_STATEDIR "/";
	struct stat st;

	return strncmp(t->path, folder, sizeof(folder) - 1) == 0 ||
	    (stat(folder, &st) == 0 && is_same_file(&st, &t->place.dir_st));
}

/* --- telling ------------------------------------------------------------ */

/* Prints and logs a key that is in use and listed newly. */
static void
tell_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	const struct kv_log_context context = {
		.via = "update",
		.user = r->account,
		.authorized = KV_AUTHORIZED_YES,
	};
	static char line[KV_LOG_LINE_BYTES];
	const char *account = r->account != NULL ? r->account : "";

	cli_error("%s:%" PRIu64 ": %s%s%s %s is newly listed%s%s: %s %s%s%.*s",
	    key->path, key->line, account, *account != '\0' ? "'s " : "",
	    key->part == KV_PART_CA ? "CA" : "key", d->fingerprint,
	    d->source[0] != '\0' ? " by source " : "", d->source, key->type,
	    d->action == KV_ACTION_DENY ? "refused when it takes effect" :
					  "only logged",
	    key->comment.len > 0 ? ", " : "",
	    (int)(key->comment.len < 256 ? key->comment.len : 256),
	    (const char *)key->comment.p);
	kv_log_format(&context, d, line);
	syslog(kv_log_priority(&context, d), "%s", line);
}

/* Prints what of the accounts could not be compared with the new file. */
static void
tell_unjudged(const struct input_problem *p)
{
	if (p->line > 0)
		cli_error("%s:%" PRIu64 ": %s", p->path, p->line, p->reason);
	else
		cli_error("%s: %s", p->path, p->reason);
}

/* --- holding ------------------------------------------------------------ */

/* The file that is to take effect, for messages. */
static const char *
new_one(const struct update *u)
{
	return u->options->rollback ? "the previous one" : "the new one";
}

/* Whether a hit of the new file refuses a key. */
static bool
refuses(const struct update *u, const struct kv_judge *j)
{
	return (u->kind == &update_list_kind ?
		       j->config.on_hit :
		       j->config.on_probable) == KV_ACTION_DENY;
}

/*
 * Audits the accounts, and notes what was found. Whether HoldIfRefused keeps
 * the old file.
 */
static bool
must_hold_for_accounts(struct update *u, struct report *r)
{
	const struct update_hold *hold = &u->source.settings.hold;
	struct update_notes *s = &u->notes;
	struct accounts accounts = { 0 };
	struct audit_refused h = { 0 };
	bool held = false;

	if (!update_hold_audit(hold, &accounts, &h, r))
		held = !hold->never && u->consulted;
	else if (refuses(u, r->judge))
		held = update_hold_keeps(hold, &h, u->installed.path,
		    new_one(u), u->consulted);
	u->told = r->listed > 0;
	if (!held || u->options->yes)
		s->in_use = (int64_t)r->listed;
	/* A rollback says nothing about a newer file that is kept away. */
	if (!u->options->rollback)
		s->held = !held || u->options->yes ? 0 :
		    h.n > 0			   ? (int64_t)h.n :
						     1;
	audit_refused_free(&h);
	accounts_free(&accounts);
	return held;
}

/* Says what to do, and notes it. */
static void
report_held(const struct update *u)
{
	const struct update_installed *t = &u->installed;

	cli_error(
	    "%s: %s. Correct that, have those keys replaced, or let single ones in "
	    "with keyveto allow, and run this again; if this is right, "
	    "give --yes",
	    t->path,
	    t->fd != -1 ? "the old one stays in use" : "it is not installed");
	if (!u->options->dry_run)
		update_notes_keep(t->place.dir, t->place.name, &u->notes);
}

/* Opens the judge of the new file alone, with the rest of the configuration. */
static void
open_new_judge(const struct update *u, const char *config, struct fresh *f,
    struct kv_judge *judge)
{
	const bool is_list = u->kind == &update_list_kind;
	const struct kv_paths paths = {
		.filter = &u->installed.path,
		.n_filters = is_list ? 0 : 1,
		.blocklist = &u->installed.path,
		.n_blocklists = is_list ? 1 : 0,
	};

	kv_judge_open_with(judge, config, &paths, open_fresh, f);
	if (judge->broken[0] == '\0')
		return;
	/* Without the exceptions of a keyveto.conf that cannot be read. */
	kv_judge_close(judge);
	kv_judge_open_with(judge, NULL, &paths, open_fresh, f);
}

bool
update_brake_allows(struct update *u, int fd, const char *sources)
{
	const char *config = update_source_config_path(u->options);
	struct fresh f = { .path = u->installed.path, .fd = fd, .sources = -1 };
	struct kv_judge known, judge;
	struct report r = {
		.judge = &judge,
		.known = &known,
		.on_listed = tell_key,
		.on_unjudged = tell_unjudged,
		.quiet = true,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
	};
	bool held;

	/* Only root can read the keys of others, and replace what logins use. */
	if (geteuid() != 0)
		return true;
	kv_judge_open_with(&known, config, NULL, cli_open_as_login, NULL);
	u->consulted = u->installed.fd != -1 &&
	    is_consulted(&u->installed, &known);
	if (!is_consulted(&u->installed, &known) &&
	    !is_in_state_folder(&u->installed)) {
		kv_judge_close(&known);
		return true;
	}
	if (sources != NULL &&
	    (f.sources = memfd_create("sources", MFD_CLOEXEC)) != -1)
		(void)io_write(f.sources, sources, strlen(sources));
	open_new_judge(u, config, &f, &judge);
	openlog("keyveto", LOG_PID, judge.config.syslog_facility);
	held = must_hold_for_accounts(u, &r);
	closelog();
	if (held && !u->options->yes)
		report_held(u);
	if (f.sources != -1)
		close(f.sources);
	kv_judge_close(&judge);
	kv_judge_close(&known);
	return !held || u->options->yes;
}
