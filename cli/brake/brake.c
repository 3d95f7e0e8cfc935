/* SPDX-License-Identifier: ISC */
#include "brake/brake.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "brake/parts.h"
#include "command.h"
#include "base/io.h"
#include "host/memory.h"
#include "host/place.h"
#include "reading/judging.h"
#include "upkeep/settings.h"
#include "ways/configurations.h"

/* For each account. */
#define SECONDS 30
#define DAY_SECONDS 86400
#define LINKS_MAX 40 /* the kernel's limit */

/* The file that is to change. */
struct target {
	char name[NAME_MAX + 1];
	struct stat dir;
	bool there;
	struct stat st; /* if it is there */
};

struct brake {
	const struct change *change;
	struct target target;
	int sources; /* text of LIST.sources; -1: that of the file */
	const struct change_hold *hold;
	struct update_conf conf; /* what hold may point into */
	struct configurations configurations;
	struct since_yes since;
	struct accounts accounts;   /* empty before the first audit */
	struct audit_refused found; /* by all configurations together */
	bool consulted;		    /* by one of them */
	bool mistaken;	      /* for a file of another kind; it was said */
	bool unjudged_counts; /* somebody gets in now */
	bool failed;	      /* an audit did not come to its end */
	/*
	 * The time at which keys are judged, or 0 for now; and the next one at
	 * which a DenyKey line of a new keyveto.conf begins to count, or an
	 * AllowKey line counts no more, or 0.
	 */
	int64_t at, next;
};

/* --- the file ------------------------------------------------------------- */

/* False after a message. */
static bool
find_target(const char *path, struct target *t)
{
	bool ok;
	int dir;

	if (!place_find(path, &dir, t->name))
		return false;
	ok = fstat(dir, &t->dir) == 0;
	t->there = ok &&
	    fstatat(dir, t->name, &t->st, AT_SYMLINK_NOFOLLOW) == 0;
	close(dir);
	return ok || cli_failed(path, "its directory");
}

/* Whether path is the file's name in the file's directory. */
static bool
is_name_of(const struct target *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	struct stat st;

	if (slash == NULL || strcmp(slash + 1, t->name) != 0)
		return false;
	snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path);
	return stat(dir, &st) == 0 && io_is_same(&st, &t->dir);
}

/* Replaces path, if it is a symbolic link, by what that points to. */
static bool
follow_link(char path[static PATH_MAX])
{
	char target[PATH_MAX], *slash = strrchr(path, '/');
	const ssize_t len = readlink(path, target, sizeof(target) - 1);
	size_t before = 0;

	if (len <= 0)
		return false;
	target[len] = '\0';
	if (target[0] != '/' && slash != NULL)
		before = (size_t)(slash - path) + 1;
	if (before + (size_t)len >= PATH_MAX)
		return false;
	memcpy(path + before, target, (size_t)len + 1);
	return true;
}

/* Whether path, which may have links in it, stands for the file. */
static bool
is_target(const struct target *t, const char *path)
{
	char at[PATH_MAX];
	unsigned int links = 0;
	struct stat st;

	if (t->there && stat(path, &st) == 0 && io_is_same(&st, &t->st))
		return true;
	/* A link may point to a file that is not there yet. */
	if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
		return false;
	while (!is_name_of(t, at))
		if (links++ == LINKS_MAX || !follow_link(at))
			return false;
	return true;
}

/* Whether logins may consult the file soon. */
static bool
is_in_state_folder(const struct brake *b)
{
	static const char folder[] = KV_STATEDIR "/";
	struct stat st;

	return b->change->kind != CHANGE_CONFIG &&
	    (strncmp(b->change->path, folder, sizeof(folder) - 1) == 0 ||
		(stat(folder, &st) == 0 && io_is_same(&st, &b->target.dir)));
}

/* --- before and after ----------------------------------------------------- */

/* A keyveto.conf, and what it makes of the file. */
struct use {
	const struct brake *b;
	const char *config; /* NULL: the defaults hold */
	bool as_filter, as_list, as_config;
};

/* Opens path as it will be. */
static enum kv_err
open_changed(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const struct use *use = arg;
	const struct change *c = use->b->change;
	const char *changed = use->as_config ? use->config : c->path;
	const size_t len = strlen(changed);
	int fd;

	if (strcmp(path, changed) == 0)
		fd = c->fd;
	else if (use->b->sources != -1 && strncmp(path, changed, len) == 0 &&
	    strcmp(path + len, KV_SOURCES_SUFFIX) == 0)
		fd = use->b->sources;
	else
		return cli_open_as_login(path, fdp, why, NULL);
	return judging_reopen(fd, path, fdp, why);
}

/* False after a message: not all keys were looked up. */
static bool
end_judging(const struct brake *b, struct judging *j)
{
	char why[WALL_WHY_BYTES];

	return judging_close(j, why) ||
	    cli_error("%s: cannot be judged: %s", b->change->path, why);
}

/*
 * Opens the judge of what will be: of a filter or list that file alone, with
 * the rest of the configuration; others may be as broken as they are now.
 */
static void
open_judge(struct use *use, struct judging *after)
{
	const char *const *path = &use->b->change->path;
	const struct kv_paths paths = {
		.filter = path,
		.n_filters = use->as_filter ? 1 : 0,
		.blocklist = path,
		.n_blocklists = use->as_list ? 1 : 0,
	};

	if (use->as_config) {
		judging_open(after, use->config, NULL, open_changed, use);
		return;
	}
	judging_open(after, use->config, &paths, open_changed, use);
	if (after->judge.broken[0] == '\0')
		return;
	/* Without the exceptions of a keyveto.conf that cannot be read. */
	(void)end_judging(use->b, after);
	judging_open(after, NULL, &paths, open_changed, use);
}

/* Whether a hit of the file would refuse a key. */
static bool
may_refuse(const struct use *use, const struct kv_judge *judge)
{
	const struct kv_config *c = &judge->config;

	return use->as_config || judge->broken[0] != '\0' ||
	    (use->as_list && c->on_hit == KV_ACTION_DENY) ||
	    (use->as_filter && c->on_probable == KV_ACTION_DENY);
}

/* --- the audit ------------------------------------------------------------ */

/* Whether accounts that were refused before count. */
static bool
counts_accounts(const struct brake *b)
{
	return !b->hold->never && b->hold->accounts != UINT64_MAX;
}

/* Before the first audit, reads which accounts there are. False after a
 * message. */
static bool
read_accounts(struct brake *b, bool has_sshd)
{
	bool ok;

	if (b->accounts.n > 0)
		return true;
	if (!has_sshd)
		cli_error("note: " SSHD_PATH ": %s: the accounts' files are "
			  "taken from keyveto.conf",
		    strerror(errno));
	if (counts_accounts(b))
		since_yes_open(&b->since);
	ok = accounts_add_all(&b->accounts) &&
	    brake_hold_add_members(b->hold, &b->accounts);
	for (size_t i = 0; ok && i < b->since.names.n; i++)
		ok = brake_hold_add(&b->accounts, b->since.names.v[i]);
	return ok ||
	    cli_failed("the accounts of this machine", "cannot be read");
}

/*
 * Audits the accounts by j, which it closes, and adds what that refuses to all,
 * if it is not NULL. r says where keys and problems go. False after a message.
 */
static bool
audit(struct brake *b, struct report *r, struct judging *j,
    struct audit_refused *all)
{
	const struct sshd sshd = { .path = SSHD_PATH };
	const bool has_sshd = access(sshd.path, X_OK) == 0;
	struct audit_refused h = { .n = 0 };
	bool ok;

	judging_report(r, &j->judge);
	r->by_action = r->quiet = true;
	r->now = b->at != 0 ? b->at : time(NULL);
	ok = read_accounts(b, has_sshd) &&
	    audit_refused_find(&h, has_sshd ? &sshd : NULL, &b->accounts,
		b->hold, SECONDS, r) &&
	    (all == NULL || audit_refused_join(all, &h) ||
		cli_failed(b->change->path, "cannot be judged"));
	audit_refused_free(&h);
	if (r->broken_off)
		ok = cli_error("%s: cannot be judged: the reader of files "
			       "failed",
		    b->change->path);
	return end_judging(b, j) && ok;
}

/* Notes the day on which a line begins or ends to count, if it is the next. */
static void
note_day(struct brake *b, int64_t day)
{
	const int64_t at = b->at != 0 ? b->at : time(NULL);

	if (day > at / DAY_SECONDS && day < INT64_MAX / DAY_SECONDS &&
	    (b->next == 0 || day < b->next / DAY_SECONDS))
		b->next = day * DAY_SECONDS;
}

/* Whether the end of an AllowKey line comes with the change. */
static bool
is_new_end(const struct kv_config *before, const struct kv_key_line *line)
{
	bool was = false;

	if (line->day == KV_CONFIG_NO_END)
		return false;
	for (size_t i = 0; i < before->allowed.n; i++) {
		const struct kv_key_line *old = &before->allowed.v[i];

		if (memcmp(old->digest, line->digest, sizeof(old->digest)) != 0)
			continue;
		if (old->day > line->day)
			return true;
		was |= old->day == line->day;
	}
	return !was;
}

/* Notes when lines of the new configuration begin, or end, to count. */
static void
note_days(struct brake *b, const struct kv_config *before,
    const struct kv_config *after)
{
	for (size_t i = 0; i < after->denied.n; i++)
		note_day(b, after->denied.v[i].day);
	for (size_t i = 0; i < after->allowed.n; i++)
		if (is_new_end(before, &after->allowed.v[i]))
			note_day(b, after->allowed.v[i].day + 1);
}

/* Audits the accounts with what a configuration makes of the change. */
static void
audit_use(struct brake *b, struct use *use, const struct kv_judge *known)
{
	struct judging after;
	struct report r = {
		.known = known,
		.on_listed = brake_findings_key,
		.on_unjudged = brake_findings_problem,
		.out = stdout,
		.err = stderr,
	};

	open_judge(use, &after);
	note_days(b, &known->config, &after.judge.config);
	openlog("keyveto", LOG_PID, after.judge.config.syslog_facility);
	b->failed |= !audit(b, &r, &after,
	    may_refuse(use, &after.judge) ? &b->found : NULL);
	closelog();
}

/* Whether it is consulted for a file of the kind that it is to be. */
static bool
is_of_its_kind(const struct use *use)
{
	const bool is[] = {
		[CHANGE_FILTER] = use->as_filter,
		[CHANGE_LIST] = use->as_list,
		[CHANGE_CONFIG] = use->as_config,
	};

	return is[use->b->change->kind];
}

/* No login would get a verdict: --yes does not help, either. */
static void
report_mistaken(struct brake *b, const struct use *use)
{
	if (!b->mistaken)
		cli_error("%s: stays as it is: logins consult it as %s, and "
			  "what was to be written is none; give another name",
		    b->change->path,
		    use->as_config     ? "keyveto.conf" :
			use->as_filter ? "a filter" :
					 "an exact list");
	b->mistaken = true;
}

/* Judges the change by one configuration, if that consults the file. */
static void
judge_by(struct brake *b, const char *config, bool soon)
{
	const enum change_kind kind = b->change->kind;
	struct use use = { .b = b, .config = config };
	struct judging before;
	const struct kv_judge *known = &before.judge;

	judging_open(&before, config, NULL, cli_open_as_login, NULL);
	if (kind == CHANGE_CONFIG && config == NULL)
		use.config = KV_CONFIG_PATH; /* it is made */
	use.as_config = is_target(&b->target,
	    use.config != NULL ? use.config : KV_CONFIG_PATH);
	for (size_t i = 0; i < known->n_filters; i++)
		use.as_filter |= is_target(&b->target, known->filter[i].path);
	for (size_t i = 0; i < known->n_lists; i++)
		use.as_list |= is_target(&b->target, known->list[i].path);
	if ((use.as_config || use.as_filter || use.as_list) &&
	    !is_of_its_kind(&use)) {
		report_mistaken(b, &use);
		b->failed |= !end_judging(b, &before);
		return;
	}
	use.as_config &= kind == CHANGE_CONFIG;
	use.as_filter &= kind != CHANGE_CONFIG;
	use.as_list &= kind != CHANGE_CONFIG;
	/* It cannot be told which files it names. */
	if (soon || (known->broken[0] != '\0' && kind != CHANGE_CONFIG)) {
		use.as_filter |= kind == CHANGE_FILTER;
		use.as_list |= kind == CHANGE_LIST;
	}
	if (use.as_config || use.as_filter || use.as_list) {
		b->consulted |= !soon;
		/* Without the file, nobody whom it may refuse gets in yet. */
		b->unjudged_counts |= !soon &&
		    (b->target.there ||
			known->config.on_error != KV_ACTION_DENY);
		audit_use(b, &use, known);
	}
	b->failed |= !end_judging(b, &before);
}

static size_t
count_configs(const struct brake *b)
{
	return b->configurations.paths.n + b->configurations.defaults;
}

/* The path of a configuration; NULL: the defaults hold, which come first. */
static const char *
config_at(const struct brake *b, size_t i)
{
	const struct configurations *c = &b->configurations;

	return c->defaults && i == 0 ? NULL : c->paths.v[i - c->defaults];
}

static void
judge_by_all(struct brake *b)
{
	const struct configurations *c = &b->configurations;

	for (size_t i = 0; i < count_configs(b); i++)
		judge_by(b, config_at(b, i), false);
	/* What is refused some day is asked about today, too. */
	while (b->change->kind == CHANGE_CONFIG && b->next != 0) {
		b->at = b->next;
		b->next = 0;
		for (size_t i = 0; i < count_configs(b); i++)
			judge_by(b, config_at(b, i), false);
	}
	b->at = 0;
	/* One that is not known may consult it. */
	if (!b->consulted && b->change->kind != CHANGE_NONE &&
	    (c->incomplete || is_in_state_folder(b)))
		judge_by(b, config_at(b, 0), b->change->kind != CHANGE_CONFIG);
	b->found.unjudged_settings |= c->incomplete;
	b->unjudged_counts |= c->incomplete && b->target.there;
}

/* --- accounts that were refused before ------------------------------------ */

/* Audits the accounts with the files as they are, for who is refused a key. */
static bool
audit_now(struct brake *b, struct audit_refused *all)
{
	FILE *nowhere = fopen("/dev/null", "we");
	bool ok = nowhere != NULL;

	for (size_t i = 0; ok && i < count_configs(b); i++) {
		struct judging now;
		struct report r = {
			/* What is found is not news. */
			.out = nowhere,
			.err = nowhere,
		};

		judging_open(&now, config_at(b, i), NULL, cli_open_as_login,
		    NULL);
		ok = audit(b, &r, &now, all);
	}
	if (nowhere != NULL)
		fclose(nowhere);
	return ok;
}

/* Whether an account is still refused a key, or may be. */
static bool
is_still_refused(const char *name, void *arg)
{
	const struct audit_refused *now = arg;

	for (size_t i = 0; i < now->n; i++)
		if (strcmp(now->v[i].account->name, name) == 0)
			return true;
	for (size_t i = 0; i < now->n_unjudged; i++)
		if (strcmp(now->unjudged[i]->name, name) == 0)
			return true;
	return now->unjudged_settings;
}

/* Drops noted accounts that have no refused key any more. */
static void
drop_settled(struct brake *b)
{
	struct audit_refused now = { .n = 0 };

	if (b->since.names.n > 0 && audit_now(b, &now))
		since_yes_filter(&b->since, is_still_refused, &now);
	audit_refused_free(&now);
}

/* --- the decision --------------------------------------------------------- */

static void
report_remedy(const struct brake *b)
{
	const bool config = b->change->kind == CHANGE_CONFIG;

	if (!b->change->silent)
		cli_error("%s: %s. Correct that, have those keys replaced%s, "
			  "and run this again; if this is right, give --yes",
		    b->change->path,
		    config		? "stays as it is" :
			b->target.there ? "the old one stays in use" :
					  "it is not installed",
		    config ? "" : ", or let single ones in with keyveto allow");
}

/* Whether HoldIfRefused keeps the file as it is; prints why. */
static bool
is_held(const struct brake *b)
{
	struct brake_held h = {
		.found = &b->found,
		.path = b->change->path,
		.what = b->change->what,
		.before = b->since.names.n,
		.together = b->since.names.n,
		.unjudged = b->unjudged_counts,
	};

	if (b->failed)
		return !b->hold->never && b->unjudged_counts;
	for (size_t i = 0; i < b->found.n; i++)
		h.together += !texts_has(&b->since.names,
		    b->found.v[i].account->name);
	return brake_hold_keeps(b->hold, &h);
}

/* Notes of whom a change refuses a key that takes effect. */
static void
note_refused(struct brake *b)
{
	bool ok = counts_accounts(b);

	if (b->change->yes)
		since_yes_filter(&b->since, NULL, NULL);
	for (size_t i = 0; ok && !b->change->yes && i < b->found.n; i++)
		ok = since_yes_add(&b->since, b->found.v[i].account->name);
	since_yes_save(&b->since);
}

/* No reason to hold: it would be one each night, and --yes no answer to it. */
static void
note_unasked(const struct brake *b)
{
	for (size_t i = 0; i < b->found.unasked.n; i++)
		cli_error("note: %s; so nobody can know beforehand which of "
			  "the keys it prints would be refused",
		    b->found.unasked.v[i]);
}

static bool
decide(struct brake *b, struct change_effect *e)
{
	bool may;

	note_unasked(b);
	if (b->found.n > 0)
		drop_settled(b);
	*e = (struct change_effect){
		.consulted = true,
		.held = is_held(b),
		.keys = brake_findings_keys(),
		.accounts = b->found.n,
	};
	may = !e->held || b->change->yes;
	if (!may)
		report_remedy(b);
	else if (!b->change->dry_run)
		note_refused(b);
	return may;
}

/* --- all ------------------------------------------------------------------ */

/*
 * Reads HoldIfRefused from update.conf. A file that keyveto update refuses does
 * not count here, either.
 */
static const struct change_hold *
read_hold(struct update_conf *conf)
{
	static char text[UPDATE_SETTINGS_MAX_BYTES + 1];
	char why[UPDATE_SETTINGS_WHY_BYTES];
	ssize_t len;
	int fd;

	if (kv_trusted_open(UPDATE_SETTINGS_PATH, 0, &fd, why) != KV_OK)
		return &conf->source[0].hold;
	len = io_read(fd, text, sizeof(text));
	close(fd);
	if (len == -1 ||
	    !update_conf_parse(text, (size_t)len, UPDATE_SETTINGS_PATH, conf,
		why))
		update_conf_free(conf);
	return &conf->source[0].hold;
}

static bool
open_brake(struct brake *b)
{
	const struct change *c = b->change;
	const size_t len = c->sources != NULL ? strlen(c->sources) : 0;

	brake_findings_start(c->via);
	if (c->hold == NULL)
		b->hold = read_hold(&b->conf);
	if (c->sources != NULL &&
	    ((b->sources = memory_file("sources")) == -1 ||
		!io_write(b->sources, c->sources, len)))
		return cli_failed(c->path, "cannot be judged");
	return find_target(c->path, &b->target) &&
	    configurations_find(&b->configurations, c->config);
}

bool
brake_may_take_effect(const struct change *c, struct change_effect *e)
{
	struct brake b = {
		.change = c,
		.hold = c->hold,
		.sources = -1,
		.since = { .dir = -1, .lock = -1 },
	};
	bool may;

	/* Only root can read others' keys, and replace what logins use. */
	if (geteuid() != 0)
		return true;
	update_conf_defaults(&b.conf);
	may = open_brake(&b);
	if (may) {
		judge_by_all(&b);
		if ((e->mistaken = b.mistaken))
			may = false;
		else if (c->kind == CHANGE_NONE)
			may = true;
		else if (b.consulted || b.configurations.incomplete ||
		    is_in_state_folder(&b))
			may = decide(&b, e);
	}
	if (b.sources != -1)
		close(b.sources);
	since_yes_close(&b.since);
	audit_refused_free(&b.found);
	accounts_free(&b.accounts);
	texts_free(&b.configurations.paths);
	update_conf_free(&b.conf);
	brake_findings_free();
	return may;
}
