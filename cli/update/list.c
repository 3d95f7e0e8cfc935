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

	update_sources_read(t->path, false, &l->known);
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

/*
 * Whether the manifest counts still, which the notes remember for keyveto
 * doctor. Nothing makes one count that has expired: its publisher makes them
 * anew before. False after a message.
 */
static bool
counts_still(struct update *u)
{
	const int64_t expires = u->list.manifest.expires;
	char date[UPDATE_DATE_BYTES];

	if (u->notes.expires != expires) {
		u->notes.expires = expires;
		if (!update_save_notes(u))
			return false;
	}
	if (expires == 0 || (int64_t)time(NULL) <= expires)
		return true;
	update_sources_date(expires, date);
	return cli_error(
	    "%s: expired at %s, and there is no newer one: somebody may be "
	    "holding newer ones back; ask its publisher, and compare the clock "
	    "of this machine",
	    u->source.from.shown, date);
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
	return ok && has_come(u) && counts_still(u);
}

/* Fetches the manifest, and verifies its signature. */
static enum update_signature
fetch_signed(struct update *u, bool last)
{
	enum update_signature found;
	struct fetch there = {
		.place = &u->source.from,
		.limits = &u->source.limits,
		.progress = &u->progress,
	};
	int signature;

	io_close(u->list.text);
	if (update_text_fetch(&there, MANIFEST_MAX_BYTES,
		"longer than 1 MiB: not a manifest of badkeys; correct URL",
		&u->list.text) != FETCH_DONE)
		return UPDATE_SIGNATURE_FAILED;
	if (u->source.signers == -1)
		return UPDATE_SIGNATURE_GOOD;
	if (update_signature_fetch(u, "", &there, &signature) != FETCH_DONE)
		return UPDATE_SIGNATURE_FAILED;
	found = update_signature_verify(u, u->list.text, NAMESPACE,
	    last ? u->kind->what : NULL, u->source.signature.shown, signature);
	close(signature);
	return found;
}

/*
 * Fetches and parses the manifest. The publisher may be replacing it and its
 * signature: both are fetched once more. False after a message.
 */
static bool
fetch_manifest(struct update *u)
{
	enum update_signature found = fetch_signed(u, false);

	if (found == UPDATE_SIGNATURE_BAD)
		found = update_wait_before_again(u) ?
		    fetch_signed(u, true) :
		    UPDATE_SIGNATURE_FAILED;
	return found == UPDATE_SIGNATURE_GOOD && parse_manifest(u);
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
	update_sources_read(u->installed.path, true, &previous);
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
	const struct fetch_place *from;
	const char *beside; /* the file that it is for */
	int fd;
};

static bool
report_too_large(const struct receiving *r, const char *what)
{
	return cli_error("%s: has more than %" PRIu64
			 " bytes%s, which is more than MaxSize "
			 "allows; if that is right, raise MaxSize",
	    r->from->shown, r->u->source.settings.max_bytes, what);
}

static bool
report_not_written(const struct receiving *r, int error)
{
	return cli_error("%s: cannot be written beside %s: %s", r->from->shown,
	    r->beside, strerror(error));
}

static bool
fetch_packed(const struct receiving *r)
{
	struct fetch f = {
		.place = r->from,
		.limits = &r->u->source.limits,
		.into = r->fd,
		.max = r->u->source.settings.max_bytes,
		.progress = &r->u->progress,
		.shows = true,
	};

	if (fetch_run(&f) == FETCH_DONE)
		return true;
	if (f.error != 0)
		return report_not_written(r, f.error);
	return f.len > f.max && report_too_large(r, "");
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
		return report_no_list(r->from->shown, x->why);
	case UNPACK_NOT_READ:
	case UNPACK_NOT_WRITTEN:
		return report_not_written(r, x->error);
	case UNPACK_DAMAGED:
		break;
	}
	return cli_error("%s: %s", r->from->shown, x->why);
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

/* Where a file is that the manifest names. False after a message. */
static bool
resolve(const struct update *u, const char *url, struct fetch_place *p)
{
	/* Only badkeys' own manifest leads to other hosts. */
	return fetch_place_resolve(&u->source.from, url,
	    strcmp(u->source.from.where, UPDATE_BADKEYS_URL) == 0, p);
}

/*
 * Fetches the file at from, and unpacks it into the part. records
 * is NULL if it is no list. False after a message, also if its SHA-256 is
 * another.
 */
static bool
receive(struct update *u, const struct fetch_place *from, const char *sha256,
    struct update_records *records, struct update_part *part)
{
	const struct replace *place = &u->installed.place;
	struct receiving r = { .u = u, .from = from, .beside = part->path };
	struct unpacked x;
	bool ok;

	r.fd = update_part_nameless(place->dir, place->name);
	if (r.fd == -1)
		return report_not_written(&r, errno);
	ok = fetch_packed(&r) &&
	    tasks_unpack(from->shown, r.fd, part->fd,
		u->source.settings.max_bytes, records != NULL,
		u->source.limits.stopped, &part->len, &x) &&
	    was_unpacked(&r, &x) &&
	    is_wanted(from->shown, part->reads, sha256, records);
	close(r.fd);
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
	update_keep_notes(u);
	return update_sources_write(t->path, sources, t->is_good) ?
	    outcome :
	    UPDATE_FAILED;
}

/*
 * Receives the list by a patch. False, without a message, if there is none that
 * gives it.
 */
static bool
receive_patched(struct update *u, const struct fetch_place *from)
{
	struct update_list *l = &u->list;
	const struct manifest *m = &l->manifest;
	char sha256[UPDATE_DIGEST_CHARS];
	bool ok;

	if (!u->installed.is_good || u->options->force)
		return false;
	ok = update_patch_receive(u, from, l->old.sha256) &&
	    working_hash(u->part.reads, from->shown, sha256) &&
	    strcmp(sha256, m->blocklist_sha256) == 0 &&
	    tasks_records(from->shown, u->part.reads, &l->fresh) &&
	    l->fresh.why[0] == '\0';
	if (!ok) {
		u->patch_bytes = 0;
		(void)update_part_empty(&u->part);
	}
	return ok;
}

/* Receives the list, and verifies it. */
static bool
receive_list(struct update *u)
{
	struct update_list *l = &u->list;
	const struct manifest *m = &l->manifest;
	struct fetch_place from;
	bool ok;

	ok = resolve(u, m->blocklist_url, &from) &&
	    (receive_patched(u, &from) ||
		receive(u, &from, m->blocklist_sha256, &l->fresh, &u->part)) &&
	    update_seen_allows_list(u);
	fetch_place_free(&from);
	return ok;
}

static enum update_outcome
install_list(struct update *u)
{
	struct update_list *l = &u->list;
	const struct manifest *m = &l->manifest;
	enum update_outcome outcome;
	char *sources;

	if (!fetch_manifest(u))
		return UPDATE_FAILED;
	outcome = judge_manifest(u);
	if (outcome == UPDATE_FAILED)
		return outcome;
	memcpy(u->fresh_sha256, m->blocklist_sha256, sizeof(u->fresh_sha256));
	if ((sources = update_sources_text(m)) == NULL)
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
	} else if (!receive_list(u) ||
	    !update_never_listed_allows(u, u->part.reads) ||
	    !update_brake_allows(u, u->part.reads, sources)) {
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
	struct update_part part;
	char sha256[UPDATE_DIGEST_CHARS];
	struct fetch_place from;
	bool ok, replaced = false;
	struct stat st;

	if (m->lookup_url[0] == '\0')
		return cli_error("%s: names no lookup file",
		    u->source.from.shown);
	if (t->fd != -1 && working_hash(t->fd, t->path, sha256) &&
	    strcmp(sha256, m->lookup_sha256) == 0)
		return true;
	if (!update_part_open(&part, t->place.dir, t->place.name, t->path))
		return false;
	ok = resolve(u, m->lookup_url, &from) &&
	    receive(u, &from, m->lookup_sha256, NULL, &part);
	if (ok && !u->options->dry_run) {
		ok = update_installed_replace(t, part.fd, &st, &replaced);
		if (replaced && !u->options->quiet)
			cli_printf(stdout, "%s: %s\n", t->path,
			    t->fd != -1 ? "updated" : "installed");
	}
	update_part_close(&part);
	fetch_place_free(&from);
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
		update_sources_read(u->installed.path, true, &about);
		if (strcmp(about.sha256, l->fresh.sha256) == 0)
			l->fresh_time = about.time;
		return true;
	}
	return cli_error("%s: the previous one, %s, is no exact list: %s",
	    u->installed.path, u->installed.place.previous_name, l->fresh.why);
}

static bool
roll_back_sources(struct update *u)
{
	struct update_sources beside;

	/* A rollback that was killed may have left them as they must be now. */
	update_sources_read(u->installed.path, false, &beside);
	return strcmp(beside.sha256, u->list.fresh.sha256) == 0 ||
	    update_sources_exchange(u->installed.path);
}

/* --- the command -------------------------------------------------------- */

static void
print_outcome(const struct update *u, enum update_outcome outcome)
{
	const struct update_list *l = &u->list;
	char date[UPDATE_DATE_BYTES + 4], installed[128];
	char patch[UPDATE_PATCH_COST_BYTES], lost[64] = "";

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
	    of_date(l->fresh_time, date), lost, update_patch_cost(u, patch));
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
	.complete_rollback = roll_back_sources,
	.print_outcome = print_outcome,
};
