/* SPDX-License-Identifier: ISC */
/*
 * update/list: fetches an exact list that a manifest of badkeys names, verifies
 * it, and installs it.
 */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "kv_sources.h"
#include "published/lookup.h"
#include "tasks/list.h"
#include "update/text.h"
#include "update/update.h"

#define NAMESPACE "keyveto-list"
#define SECONDS_A_DAY 86400

/* --- what is installed -------------------------------------------------- */

/*
 * A list has no header, so a file that is no list is a damaged one only if an
 * update has installed a list there: it wrote the file with the sources then.
 */
static bool
read_installed(struct update *u)
{
	struct update_installed *t = &u->installed;
	struct update_list *l = &u->list;

	update_sources_read(t->path, &l->known);
	l->fresh_time = -1;
	if (t->fd == -1)
		return true;
	if (!tasks_records(t->path, t->fd, &l->old))
		return false;
	t->is_good = l->old.why[0] == '\0';
	if (!t->is_good && l->old.sha256[0] == '\0')
		return cli_error("%s: cannot be read: %s", t->path, l->old.why);
	/* What is known is about another file. */
	if (strcmp(l->known.sha256, l->old.sha256) != 0)
		l->known.time = -1;
	if (t->is_good)
		return true;
	t->is_other = l->known.sha256[0] == '\0';
	if (!t->is_other || u->options->force) {
		cli_error("warning: %s: what is installed is no good list: %s",
		    t->path, l->old.why);
		return true;
	}
	return cli_error(
	    "%s: is not an exact list (%s), and stays as it is; name the list, "
	    "or give --force to keep this file beside it under another name",
	    t->path, l->old.why);
}

/* " of 2026-11-20", or "" without a date. */
static const char *
of_date(int64_t time, char text[static UPDATE_DATE_BYTES + 4])
{
	char date[UPDATE_DATE_BYTES];

	text[0] = '\0';
	if (time >= 0) {
		update_sources_date(time, date);
		snprintf(text, UPDATE_DATE_BYTES + 4, " of %.10s", date);
	}
	return text;
}

static void
describe_installed(const struct update *u, char *text, size_t cap)
{
	char date[UPDATE_DATE_BYTES + 4];

	snprintf(text, cap, "%" PRIu64 " %s%s", u->list.old.n,
	    cli_plural(u->list.old.n, "record", "records"),
	    of_date(u->list.known.time, date));
}

static bool
find_time(const struct update *u, bool fresh, uint64_t *timep)
{
	const int64_t time = fresh ? u->list.fresh_time : u->list.known.time;

	*timep = time > 0 ? (uint64_t)time : 0;
	return time >= 0;
}

/* --- the manifest ------------------------------------------------------- */

/* Prints what the publisher says of the format, and what was left out. */
static void
report_manifest(const struct update *u)
{
	const struct manifest *m = &u->list.manifest;
	const char *shown = u->source.from.shown;

	if (m->deprecated)
		cli_error(
		    "warning: %s: its publisher will no longer serve this "
		    "format%s%s; install a newer keyveto",
		    shown, m->deprecated_text[0] != '\0' ? ": " : "",
		    m->deprecated_text);
	if (m->left_out > 0)
		cli_error("warning: %s: %zu of its sources %s no id from 0 to "
			  "255, or no name that can be used; they are shown by "
			  "their ids",
		    shown, m->left_out, cli_plural(m->left_out, "has", "have"));
}

/*
 * Whether the list is not from the future: after such a one, all others would be
 * older. False after a message.
 */
static bool
has_come(const struct update *u)
{
	const int64_t now = (int64_t)time(NULL);

	if (u->options->force || u->list.manifest.time <= now + SECONDS_A_DAY)
		return true;
	return cli_error(
	    "%s: its date is in the future; compare the clock of this machine "
	    "with its publisher's. If it is right, use --force",
	    u->source.from.shown);
}

/* Parses the manifest. False after a message. */
static bool
parse_manifest(struct update *u)
{
	char why[MANIFEST_WHY_BYTES];
	bool ok;

	if (!tasks_manifest(u->source.from.shown, u->list.text,
		&u->list.manifest, &ok, why))
		return false;
	report_manifest(u);
	if (!ok)
		cli_error("%s: %s", u->source.from.shown, why);
	return ok && has_come(u);
}

/* Fetches and parses the manifest. False after a message. */
static bool
fetch_manifest(struct update *u)
{
	u->list.text = update_text_get(&u->source.from, &u->source.limits,
	    &u->progress, MANIFEST_MAX_BYTES,
	    "longer than 1 MiB: not a manifest of badkeys; correct URL");
	return u->list.text != -1 &&
	    (u->source.signers == -1 ||
		update_signature_check(u, u->list.text, NAMESPACE)) &&
	    parse_manifest(u);
}

/* --- a published folder ------------------------------------------------- */

/* Fetches a companion into u->list.text. False after a message. */
static bool
deliver_text(struct update *u, const struct index_companion *c, size_t max)
{
	u->list.text = update_deliver_companion(u, c, max);
	return u->list.text != -1;
}

/*
 * Reads the manifest that the folder has of its list, as badkeys served it.
 * False after a message.
 */
static bool
read_mirrored_manifest(struct update *u)
{
	const struct index_file *file = u->follow.file;
	const char *shown = u->source.from.shown;
	struct manifest *m = &u->list.manifest;

	if (!deliver_text(u, &file->manifest, MANIFEST_MAX_BYTES) ||
	    !parse_manifest(u))
		return false;
	if (strcmp(m->blocklist_sha256, file->sha256) != 0)
		return cli_error(
		    "%s: the manifest of %s is of another list; ask its "
		    "publisher",
		    shown, file->name);
	/* The folder has no such file. */
	m->lookup_url[0] = '\0';
	return true;
}

/*
 * Sets the manifest to what the index says of the list. u->list.text is its file
 * with the sources, if there is one. False after a message.
 */
static bool
read_index_entry(struct update *u)
{
	const struct index_file *file = u->follow.file;
	struct update_list *l = &u->list;

	if (file->manifest.sha256[0] != '\0')
		return read_mirrored_manifest(u);
	memcpy(l->manifest.blocklist_sha256, file->sha256,
	    sizeof(l->manifest.blocklist_sha256));
	l->manifest.time = file->dated ? file->date : u->follow.index.date;
	l->has_lines = file->sources.sha256[0] != '\0';
	/* All that an index may name: what logins do not read is left out. */
	return has_come(u) &&
	    (!l->has_lines ||
		deliver_text(u, &file->sources, INDEX_COMPANION_MAX_BYTES));
}

/*
 * Finds the list of the index. UPDATE_REPLACED if the manifest is set now, for
 * judge_manifest. UPDATE_FAILED comes after a message.
 */
static enum update_outcome
follow_index(struct update *u)
{
	const struct update_list *l = &u->list;
	const struct index_file *file;
	/* Without the file with the sources it is not all here. */
	const bool complete = strcmp(l->known.sha256, l->old.sha256) == 0;

	switch (update_follow_find(u, l->old.sha256, complete)) {
	case UPDATE_FOLLOW_FAILED:
		return UPDATE_FAILED;
	case UPDATE_FOLLOW_SAME:
		return UPDATE_CURRENT;
	case UPDATE_FOLLOW_CURRENT:
		file = u->follow.file;
		if (!complete || !file->dated || file->date != l->known.time)
			break;
		if (!u->options->dry_run)
			update_follow_note(u, &u->installed.st);
		return UPDATE_CURRENT;
	case UPDATE_FOLLOW_UNWANTED:
	case UPDATE_FOLLOW_NEWER:
		break;
	}
	return read_index_entry(u) ? UPDATE_REPLACED : UPDATE_FAILED;
}

/* --- judging it --------------------------------------------------------- */

/* Ends a rollback that was killed before it had exchanged the sources. */
static void
correct_sources(struct update *u)
{
	const struct update_list *l = &u->list;
	struct update_sources previous;

	if (strcmp(l->known.sha256, l->old.sha256) == 0)
		return;
	update_sources_read_previous(u->installed.path, &previous);
	if (strcmp(previous.sha256, l->old.sha256) == 0)
		(void)update_sources_exchange(u->installed.path);
}

/*
 * The manifest still names the list that was rolled back from. Says so at each
 * run: no update is kept away in silence.
 */
static void
report_unwanted(struct update *u)
{
	char date[UPDATE_DATE_BYTES + 4], name[UPDATE_DATE_BYTES + 8];

	snprintf(name, sizeof(name), "list%s",
	    of_date(u->list.manifest.time, date));
	update_unwanted_report(u->source.from.shown, name);
	if (u->options->dry_run)
		return;
	correct_sources(u);
	u->notes.rolled_back = 1;
	update_keep_notes(u);
}

/*
 * Compares the manifest with what is installed. UPDATE_REPLACED if the list that
 * it names is to be fetched, UPDATE_FAILED after a message.
 */
static enum update_outcome
judge_manifest(struct update *u)
{
	struct update_list *l = &u->list;
	const struct manifest *m = &l->manifest;
	const struct update_installed *t = &u->installed;
	char date[UPDATE_DATE_BYTES + 4], known[UPDATE_DATE_BYTES + 4];
	const bool older = m->time < l->known.time;

	if (t->is_good && strcmp(m->blocklist_sha256, l->old.sha256) == 0) {
		if (!older)
			l->known.time = m->time;
		return UPDATE_CURRENT;
	}
	if (u->options->force)
		return UPDATE_REPLACED;
	if (t->is_good && older) {
		cli_error("%s: its list is%s, older than the one%s that is "
			  "installed; somebody may want old keys to be "
			  "accepted again. If it is right, use --force",
		    u->source.from.shown, of_date(m->time, date),
		    of_date(l->known.time, known));
		return UPDATE_FAILED;
	}
	if (update_unwanted_is(&u->notes, m->blocklist_sha256)) {
		report_unwanted(u);
		return UPDATE_FAILED;
	}
	return update_seen_allows_time(u, m->time) ?
	    UPDATE_REPLACED :
	    UPDATE_FAILED;
}

/* --- receiving ---------------------------------------------------------- */

/* A packed file that is fetched. */
struct receiving {
	struct update *u;
	struct fetch_place from;
	const char *beside; /* the file that it is for */
	int fd;
	uint64_t len;
};

static bool
report_too_large(const struct receiving *r, const char *what)
{
	return cli_error("%s: has more than %" PRIu64
			 " bytes%s, which is more than MaxSize "
			 "allows; if that is right, raise MaxSize",
	    r->from.shown, r->u->source.settings.max_bytes, what);
}

static bool
report_not_written(const struct receiving *r, int error)
{
	return cli_error("%s: cannot be written beside %s: %s", r->from.shown,
	    r->beside, strerror(error));
}

static bool
count_packed(size_t len, void *arg)
{
	struct receiving *r = arg;
	const int error = errno;

	r->len += len;
	if (len > 0 && r->len <= r->u->source.settings.max_bytes) {
		progress_add(&r->u->progress, len);
		return true;
	}
	progress_clear(&r->u->progress);
	return len > 0 ? report_too_large(r, "") : report_not_written(r, error);
}

static bool
fetch_packed(struct receiving *r)
{
	struct update *u = r->u;
	struct fetch f = {
		.place = &r->from,
		.limits = &u->source.limits,
		.into = r->fd,
		.arrived = count_packed,
		.arg = r,
		.progress = &u->progress,
	};
	bool ok;

	progress_start(&u->progress, "fetching", 0);
	ok = fetch_run(&f) == FETCH_DONE;
	progress_clear(&u->progress);
	return ok;
}

static bool
report_no_list(const char *shown, const char *why)
{
	return cli_error(
	    "%s: %s: damaged, or not an exact list; ask its publisher", shown,
	    why);
}

/* Whether all of it was unpacked. False after a message. */
static bool
was_unpacked(const struct receiving *r, const struct unpacked *x)
{
	switch (x->end) {
	case UNPACK_DONE:
		return true;
	case UNPACK_TOO_LARGE:
		return report_too_large(r, " when unpacked");
	case UNPACK_NO_LIST:
		return report_no_list(r->from.shown, x->why);
	case UNPACK_NOT_READ:
	case UNPACK_NOT_WRITTEN:
		return report_not_written(r, x->error);
	case UNPACK_DAMAGED:
		break;
	}
	return cli_error("%s: %s", r->from.shown, x->why);
}

/*
 * Whether the part is the file with the SHA-256 sha256, and a list, unless
 * records is NULL. Other processes than the one that unpacked it read it. False
 * after a message.
 */
static bool
is_wanted(const char *shown, int part, const char *sha256,
    struct update_records *records)
{
	char digest[UPDATE_DIGEST_CHARS];

	if (records != NULL && !tasks_records(shown, part, records))
		return false;
	if (records != NULL && records->why[0] != '\0')
		return report_no_list(shown, records->why);
	/* Who parsed it does not say what it is. */
	if (!working_hash(part, shown, digest))
		return false;
	if (strcmp(digest, sha256) == 0)
		return true;
	return cli_error(
	    "%s: its SHA-256 is not the one in the manifest: damaged or "
	    "changed on its way; try again later",
	    shown);
}

/*
 * Fetches what url of the manifest names, and unpacks it into the part. records
 * is NULL if it is no list. False after a message, also if its SHA-256 is
 * another.
 */
static bool
receive(struct update *u, const char *url, const char *sha256,
    struct update_records *records, struct update_part *part)
{
	/* Only badkeys' own manifest leads to other hosts. */
	const bool other_hosts = strcmp(u->source.from.where,
				     UPDATE_BADKEYS_URL) == 0;
	const struct replace *place = &u->installed.place;
	struct receiving r = { .u = u, .beside = part->path, .fd = -1 };
	struct unpacked x;
	bool ok;

	ok = fetch_place_resolve(&u->source.from, url, other_hosts, &r.from) &&
	    update_part_cut(part, 0);
	if (ok && (r.fd = update_part_nameless(place->dir, place->name)) == -1)
		ok = report_not_written(&r, errno);
	ok = ok && fetch_packed(&r) &&
	    tasks_unpack(r.from.shown, r.fd, part->fd,
		u->source.settings.max_bytes, records != NULL,
		u->source.limits.stopped, &part->len, &x) &&
	    was_unpacked(&r, &x) &&
	    is_wanted(r.from.shown, part->fd, sha256, records);
	io_close(r.fd);
	fetch_place_free(&r.from);
	return ok;
}

/* --- installing --------------------------------------------------------- */

static enum update_outcome
replace_list(struct update *u, const char *sources)
{
	const struct update_installed *t = &u->installed;
	struct stat st;
	const enum update_outcome outcome = update_put_in_place(u, &st);

	if (!u->replaced)
		return outcome;
	if (u->source.follows)
		update_follow_note(u, &st);
	else
		update_keep_notes(u);
	return update_sources_write(t->path, sources, t->is_good) ?
	    outcome :
	    UPDATE_FAILED;
}

/* Whether the part is all of the list that the manifest names. */
static bool
was_received(struct update *u)
{
	const char *shown = u->source.from.shown;
	struct update_list *l = &u->list;
	char digest[UPDATE_DIGEST_CHARS];

	return u->part.len > 0 && tasks_records(shown, u->part.fd, &l->fresh) &&
	    l->fresh.why[0] == '\0' &&
	    working_hash(u->part.fd, shown, digest) &&
	    strcmp(digest, l->manifest.blocklist_sha256) == 0;
}

/* The same from a published folder. False after a message. */
static bool
deliver_list(struct update *u)
{
	struct update_list *l = &u->list;

	if (!update_deliver(u) ||
	    !tasks_records(u->source.from.shown, u->part.fd, &l->fresh))
		return false;
	if (l->fresh.why[0] == '\0')
		return update_seen_allows_list(u);
	return cli_error("%s: %s: not an exact list; ask its publisher",
	    u->source.from.shown, l->fresh.why);
}

/* Receives the list, unless the part is it, and verifies it. */
static bool
receive_list(struct update *u)
{
	struct update_list *l = &u->list;
	const struct manifest *m = &l->manifest;
	bool received;

	if (u->source.follows)
		return deliver_list(u);
	received = was_received(u);
	/* A dry run keeps what an earlier run received, and nothing else. */
	if (u->options->dry_run && !received)
		update_part_unname(&u->part);
	u->keep_part = u->options->dry_run && received;
	return (received ||
		   receive(u, m->blocklist_url, m->blocklist_sha256, &l->fresh,
		       &u->part)) &&
	    update_seen_allows_list(u);
}

/* The text of LIST.sources, which the caller frees. NULL after a message. */
static char *
make_sources(const struct update *u)
{
	/* A list that has no manifest has no sources there. */
	char *text = update_sources_text(&u->list.manifest), *lines, *both;
	const size_t len = text != NULL ? strlen(text) : 0;

	if (text == NULL || !u->list.has_lines)
		return text;
	lines = tasks_sources(u->source.from.shown, u->list.text,
	    KV_SOURCES_MAX_BYTES - len);
	both = lines != NULL ? realloc(text, len + strlen(lines) + 1) : NULL;
	if (both != NULL)
		memcpy(both + len, lines, strlen(lines) + 1);
	else {
		if (lines != NULL)
			cli_error("out of memory");
		free(text);
	}
	free(lines);
	return both;
}

static enum update_outcome
install_list(struct update *u)
{
	struct update_list *l = &u->list;
	const struct manifest *m = &l->manifest;
	enum update_outcome outcome;
	char *sources;

	/* A list that HoldIfRefused keeps away stays as the part. */
	u->keep_part = u->part.len > 0;
	outcome = u->source.follows ? follow_index(u) :
	    fetch_manifest(u)	    ? UPDATE_REPLACED :
				      UPDATE_FAILED;
	if (outcome == UPDATE_FAILED)
		return UPDATE_FAILED;
	u->keep_part = false;
	if (outcome == UPDATE_CURRENT)
		return UPDATE_CURRENT;
	outcome = judge_manifest(u);
	if (outcome == UPDATE_FAILED)
		return outcome;
	memcpy(u->fresh_sha256, m->blocklist_sha256, sizeof(u->fresh_sha256));
	if ((sources = make_sources(u)) == NULL)
		return UPDATE_FAILED;
	l->fresh_time = m->time;
	if (outcome == UPDATE_CURRENT) {
		/*
		 * With an older date the manifest may be an old one. If a run
		 * was killed after it replaced the list, what is there is about
		 * the list before.
		 */
		if (l->known.time == m->time && !u->options->dry_run &&
		    !update_sources_write(u->installed.path, sources,
			l->known.sha256[0] != '\0' &&
			    strcmp(l->known.sha256, l->old.sha256) != 0))
			outcome = UPDATE_FAILED;
		if (u->source.follows && !u->options->dry_run)
			update_follow_note(u, &u->installed.st);
	} else if (!receive_list(u)) {
		outcome = UPDATE_FAILED;
	} else if (!update_never_listed_allows(u, u->part.fd) ||
	    !update_brake_allows(u, u->part.fd, sources)) {
		/* It need not be fetched again to be judged again. */
		u->keep_part = true;
		outcome = UPDATE_FAILED;
	} else if (!u->options->dry_run) {
		outcome = replace_list(u, sources);
	}
	free(sources);
	return outcome;
}

/* --- where the private halves lie --------------------------------------- */

static bool
replace_lookup(struct update *u, struct update_installed *t)
{
	const struct manifest *m = &u->list.manifest;
	struct update_part part = { .fd = -1 };
	char sha256[UPDATE_DIGEST_CHARS];
	bool ok = false, replaced = false;
	int fd;

	if (m->lookup_url[0] == '\0')
		return cli_error("%s: names no lookup file",
		    u->source.from.shown);
	if (t->fd != -1 && working_hash(t->fd, t->path, sha256) &&
	    strcmp(sha256, m->lookup_sha256) == 0)
		return true;
	ok = update_part_open(&part, t->place.dir, t->place.name, t->path) &&
	    receive(u, m->lookup_url, m->lookup_sha256, NULL, &part);
	if (ok && !u->options->dry_run) {
		fd = part.fd;
		part.fd = -1;
		ok = update_installed_replace(t, fd, part.name, &replaced);
		if (replaced && !u->options->quiet)
			cli_printf(stdout, "%s: %s\n", t->path,
			    t->fd != -1 ? "updated" : "installed");
	}
	update_part_close(&part, false);
	return ok;
}

/* Fetches the file that says where the private half of each key lies. */
static bool
fetch_lookup(struct update *u)
{
	struct update_installed t;
	char *path;
	bool ok;

	if (!u->options->lookup && !u->source.settings.lookup)
		return true;
	if (asprintf(&path, "%s" LOOKUP_SUFFIX, u->installed.path) == -1)
		return cli_error("out of memory");
	ok = update_installed_open(&t, path) && replace_lookup(u, &t);
	if (!ok && !u->options->dry_run)
		cli_error("%s: the list is installed, but this file is not; "
			  "run this again",
		    path);
	update_installed_close(&t);
	free(path);
	return ok;
}

/* --- going back --------------------------------------------------------- */

static bool
read_previous(struct update *u, int fd)
{
	struct update_list *l = &u->list;
	struct update_sources about;

	if (!tasks_records(u->installed.place.previous_name, fd, &l->fresh))
		return false;
	if (l->fresh.why[0] == '\0') {
		update_sources_read_previous(u->installed.path, &about);
		if (strcmp(about.sha256, l->fresh.sha256) == 0)
			l->fresh_time = about.time;
		return true;
	}
	return cli_error("%s: the previous one, %s, is no exact list: %s",
	    u->installed.path, u->installed.place.previous_name, l->fresh.why);
}

/* With the ETag, an index that has not changed would say that all is current. */
static void
note_rollback(struct update *u)
{
	update_notes_forget_installed(&u->notes);
}

static bool
roll_back_sources(struct update *u)
{
	struct update_sources beside;

	/* A rollback that was killed may have left them as they must be now. */
	update_sources_read(u->installed.path, &beside);
	return strcmp(beside.sha256, u->list.fresh.sha256) == 0 ||
	    update_sources_exchange(u->installed.path);
}

/* --- the command -------------------------------------------------------- */

static void
print_outcome(const struct update *u, enum update_outcome outcome)
{
	const struct update_list *l = &u->list;
	char date[UPDATE_DATE_BYTES + 4], installed[128];
	char cost[UPDATE_FOLLOW_COST_BYTES], lost[64] = "";

	describe_installed(u, installed, sizeof(installed));
	if (outcome == UPDATE_CURRENT) {
		printf(": already current, %s\n", installed);
		return;
	}
	printf(": %s, ", update_verb(u));
	if (u->installed.is_good)
		printf("%" PRIu64 " -> ", l->old.n);
	if (l->lost > 0)
		snprintf(lost, sizeof(lost),
		    "; without %" PRIu64 " of the old ones", l->lost);
	printf("%" PRIu64 " %s%s%s%s\n", l->fresh.n,
	    cli_plural(l->fresh.n, "record", "records"),
	    of_date(l->fresh_time, date), lost, update_follow_cost(u, cost));
}

const struct update_kind update_list_kind = {
	.what = "list",
	.time_name = "its date",
	.read_installed = read_installed,
	.describe_installed = describe_installed,
	.find_time = find_time,
	.install = install_list,
	.complete = fetch_lookup,
	.read_previous = read_previous,
	.note_rollback = note_rollback,
	.complete_rollback = roll_back_sources,
	.print_outcome = print_outcome,
};
