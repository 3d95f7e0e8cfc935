/* SPDX-License-Identifier: ISC */
/* update/filter: fetches a filter, verifies it, and installs it. */
#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tasks/filter.h"
#include "update/resume.h"
#include "update/update.h"

#define NAMESPACE "keyveto-filter"

/* --- what is known ------------------------------------------------------ */

/*
 * Whether the installed filter has a good signature of those that the settings
 * name now, or none is needed.
 */
static bool
is_vouched_for(const struct update *u)
{
	return u->source.signers == -1 ||
	    strcmp(u->notes.signers, u->source.signers_name) == 0;
}

/* Notes the server's name for the installed filter, whose stat is st. */
static void
note_installed(struct update *u, const struct fetch *f, const struct stat *st)
{
	struct update_notes *s = &u->notes;

	if (u->source.follows) {
		update_follow_note(u, st);
		return;
	}
	memcpy(s->source, u->source.name, sizeof(s->source));
	memcpy(s->etag, f->etag, sizeof(s->etag));
	memcpy(s->last_modified, f->last_modified, sizeof(s->last_modified));
	memcpy(s->signers, u->source.signers_name, sizeof(s->signers));
	/* That is of the file that came from a published folder before. */
	s->sha256[0] = '\0';
	update_notes_fit(s, st);
	update_notes_forget_part(s);
	update_keep_notes(u);
}

/* --- receiving ---------------------------------------------------------- */

/*
 * The server still has the filter that was rolled back from. Says so at each
 * run: no update is kept away in silence.
 */
static void
report_unwanted(struct update *u)
{
	const int64_t revision = u->notes.unwanted;
	char name[64] = "filter";

	if (revision >= 0)
		snprintf(name, sizeof(name), "revision %" PRId64, revision);
	progress_clear(&u->progress);
	update_unwanted_report(u->source.from.shown, name);
}

/* Judges a header before the rest is received. False after a message. */
static bool
may_receive(const struct kv_pkbf_header *h, void *arg)
{
	struct update *u = arg;

	progress_clear(&u->progress);
	/* An older keyveto noted the revision alone. */
	if (!u->options->force && u->notes.unwanted_file[0] == '\0' &&
	    h->revision == u->notes.unwanted) {
		report_unwanted(u);
		return false;
	}
	return update_seen_allows_header(u, h);
}

static bool
begin_part(const struct fetch *f, off_t at, void *arg)
{
	struct update *u = arg;

	u->keep_part = false;
	if (!update_received_begin(&u->filter.received, at) ||
	    !update_resume_note(u, f, at, u->source.name))
		return false;
	u->keep_part = update_resume_is_possible(u);
	return true;
}

static bool
count_data(size_t len, void *arg)
{
	struct update *u = arg;

	if (update_received_count(&u->filter.received, len))
		return true;
	/* The same bytes would be refused again. */
	u->keep_part = false;
	return false;
}

static enum fetch_end
receive_filter(struct update *u, struct fetch *f)
{
	const struct update_notes *s = &u->notes;

	*f = (struct fetch){ .place = &u->source.from,
		.limits = &u->source.limits,
		.if_none_match = s->etag,
		.if_modified_since = s->etag[0] != '\0' ? "" : s->last_modified,
		.begin = begin_part,
		.into = u->part.fd,
		.arrived = count_data,
		.arg = u,
		.progress = &u->progress };
	if (update_resume_known(u, &u->part, u->source.name) > 0)
		u->keep_part = !u->options->dry_run;
	return update_resume_run(u, f, &u->part, u->source.name);
}

/* --- judging it --------------------------------------------------------- */

/* Judges the received filter, and compares it. False after a message. */
static bool
judge_received(struct update *u)
{
	const struct update_installed *t = &u->installed;
	const struct kv_pkbf old = {
		.fd = t->is_good ? t->fd : -1,
		.header = u->filter.header,
	};

	return tasks_judge_filter(u->source.from.shown, u->part.fd,
	    u->source.settings.max_rate, t->path, &old,
	    u->source.limits.stopped, &u->filter.judged);
}

/* Whether the installed filter is the received one, bit for bit. */
static bool
is_same(const struct update *u)
{
	const struct kv_pkbf_header *a = &u->filter.header;
	const struct filter_judged *j = &u->filter.judged;
	const struct kv_pkbf_header *b = &j->facts.header;

	return u->installed.is_good && a->revision == b->revision &&
	    a->time == b->time && a->entries == b->entries &&
	    a->hashes == b->hashes && a->length == b->length && j->lost == 0 &&
	    j->old_set == j->facts.set;
}

/*
 * Whether the installed file is the received one, which is not judged yet.
 * sha256 is the received one's, or "". False also after a message.
 */
static bool
is_same_file(const struct update *u, const char *sha256)
{
	const struct update_installed *t = &u->installed;
	char installed[UPDATE_DIGEST_CHARS], received[UPDATE_DIGEST_CHARS];

	if (!t->is_good || t->st.st_size != u->part.len ||
	    !working_hash(t->fd, t->path, installed))
		return false;
	if (sha256[0] != '\0')
		return strcmp(installed, sha256) == 0;
	return working_hash(u->part.fd, u->source.from.shown, received) &&
	    strcmp(installed, received) == 0;
}

/*
 * Compares the received filter with the installed one. UPDATE_REPLACED if it
 * may replace that one, UPDATE_FAILED after a message.
 */
static enum update_outcome
judge_by_installed(struct update *u)
{
	if (is_same(u))
		return UPDATE_CURRENT;
	if (u->installed.is_good && !u->options->force &&
	    u->filter.header.revision ==
		u->filter.judged.facts.header.revision) {
		cli_error("%s: is revision %" PRIu32
			  ", as the one that is installed, but differs from "
			  "it. Either keys were added to that one here, which "
			  "would be lost (keep them in a filter of their own), "
			  "or somebody changed it without a new revision. If "
			  "it is right, use --force",
		    u->source.from.shown, u->filter.header.revision);
		return UPDATE_FAILED;
	}
	return update_seen_allows_filter(u) ? UPDATE_REPLACED : UPDATE_FAILED;
}

/*
 * Whether the received filter is one that was rolled back from. If so, notes
 * what the server calls it, to learn when it has another one. Failure is yes,
 * after a message.
 */
static bool
is_unwanted(struct update *u, const struct fetch *f)
{
	if (u->notes.unwanted_file[0] == '\0')
		return false;
	if (!working_hash(u->part.fd, u->source.from.shown, u->fresh_sha256))
		return true;
	/* A rollback that was killed left the installed file where it is. */
	if (u->options->force ||
	    !update_unwanted_is(&u->notes, u->fresh_sha256) ||
	    is_same_file(u, u->fresh_sha256))
		return false;
	report_unwanted(u);
	u->notes.rolled_back = 1;
	if (!u->options->dry_run)
		note_installed(u, f, &u->installed.st);
	return true;
}

/* Verifies the complete file, and installs it. */
static enum update_outcome
verify_and_install(struct update *u, const struct fetch *f)
{
	const struct update_installed *t = &u->installed;
	enum update_outcome outcome;
	int fd = u->part.fd;
	struct stat st;

	if (!update_received_end(&u->filter.received)) {
		/* The server's file is the wrong size: nothing to resume. */
		u->keep_part = false;
		return UPDATE_FAILED;
	}
	/* Of a published folder the index is signed, which has its SHA-256. */
	if (!u->source.follows && !update_signature_check(u, fd, NAMESPACE)) {
		/* If a signature was good before, this one is only missing. */
		if (!is_vouched_for(u) && is_same_file(u, ""))
			cli_error("%s: the installed filter is this same file: "
				  "no good signature of it is known either; "
				  "ask its publisher",
			    t->path);
		return UPDATE_FAILED;
	}
	u->keep_part &= u->source.follows;
	if (is_unwanted(u, f) || !judge_received(u))
		return UPDATE_FAILED;
	outcome = judge_by_installed(u);
	if (outcome == UPDATE_CURRENT && !u->options->dry_run)
		note_installed(u, f, &t->st);
	if (outcome != UPDATE_REPLACED)
		return outcome;
	if (!update_never_listed_allows(u, fd) ||
	    !update_brake_allows(u, fd, NULL)) {
		/* It need not be fetched again to be judged again. */
		u->keep_part |= update_resume_is_possible(u);
		return UPDATE_FAILED;
	}
	outcome = update_put_in_place(u, &st);
	if (u->replaced)
		note_installed(u, f, &st);
	return outcome;
}

/* The same of a published folder. */
static enum update_outcome
follow_filter(struct update *u)
{
	const struct update_installed *t = &u->installed;
	/* It is about a file of URL, which there is not. */
	const struct fetch none = { .quiet = true };

	switch (update_follow_find(u, NULL, true)) {
	case UPDATE_FOLLOW_FAILED:
		u->keep_part = u->part.len > 0;
		return UPDATE_FAILED;
	case UPDATE_FOLLOW_SAME:
		return UPDATE_CURRENT;
	case UPDATE_FOLLOW_CURRENT:
		if (!u->options->dry_run)
			update_follow_note(u, &t->st);
		return UPDATE_CURRENT;
	case UPDATE_FOLLOW_UNWANTED:
		report_unwanted(u);
		u->notes.rolled_back = 1;
		if (!u->options->dry_run)
			update_keep_notes(u);
		return UPDATE_FAILED;
	case UPDATE_FOLLOW_NEWER:
		break;
	}
	if (!update_deliver(u))
		return UPDATE_FAILED;
	memcpy(u->fresh_sha256, u->follow.file->sha256,
	    sizeof(u->fresh_sha256));
	return update_received_begin(&u->filter.received, u->part.len) ?
	    verify_and_install(u, &none) :
	    UPDATE_FAILED;
}

static enum update_outcome
install_filter(struct update *u)
{
	struct update_notes *s = &u->notes;
	struct fetch f;

	/* It is installed again, or there is no filter to prefer to it. */
	if (!u->installed.is_good || s->unwanted <= u->filter.header.revision)
		s->unwanted = -1;
	/* update_notes_load cannot tell that from the notes alone. */
	if (s->unwanted == -1 && s->unwanted_file[0] == '\0')
		s->rolled_back = 0;
	/* The ETag is of another URL, or all must be fetched again. */
	if (u->options->force || strcmp(s->source, u->source.name) != 0 ||
	    !is_vouched_for(u))
		s->etag[0] = s->last_modified[0] = '\0';
	u->filter.received.part = &u->part;
	u->filter.received.progress = &u->progress;
	u->filter.received.shown = u->source.from.shown;
	u->filter.received.if_other = u->source.follows ?
	    "correct File, or ask its publisher" :
	    "correct URL";
	u->filter.received.max_bytes = u->source.settings.max_bytes;
	u->filter.received.judge = may_receive;
	u->filter.received.arg = u;
	if (u->source.follows)
		return follow_filter(u);
	switch (receive_filter(u, &f)) {
	case FETCH_DONE:
		return verify_and_install(u, &f);
	case FETCH_NOT_MODIFIED:
		u->keep_part = false;
		if (s->rolled_back == 0)
			return UPDATE_CURRENT;
		report_unwanted(u);
		break;
	default:
		break;
	}
	return UPDATE_FAILED;
}

/* --- what is installed -------------------------------------------------- */

/*
 * Whether a file that is not a valid filter may be replaced.
 * A damaged filter, which begins like one, is replaced without --force. Any
 * other file was probably named by mistake. False after a message.
 */
static bool
may_replace_damaged(struct update_installed *t, const struct filter_head *head,
    bool force)
{
	t->is_other = head->header_err == KV_ERR_FILTER_MARKER;
	if (!t->is_other || force) {
		cli_error("warning: %s: what is installed is no good filter: "
			  "%s",
		    t->path, kv_strerror(head->whole));
		return true;
	}
	return cli_error(
	    "%s: is not a filter, and stays as it is; name the filter, or give "
	    "--force to keep this file beside it under another name",
	    t->path);
}

static bool
read_installed(struct update *u)
{
	struct update_installed *t = &u->installed;
	struct filter_head head;

	if (t->fd == -1)
		return true;
	if (!tasks_filter_head(t->path, t->fd, &head))
		return false;
	errno = head.error;
	if (head.whole == KV_ERR_SYSTEM)
		return cli_failed(t->path, "cannot be read");
	if (head.whole != KV_OK)
		return may_replace_damaged(t, &head, u->options->force);
	t->is_good = true;
	u->filter.header = head.header;
	return true;
}

static void
describe_installed(const struct update *u, char *text, size_t cap)
{
	snprintf(text, cap, "revision %" PRIu32, u->filter.header.revision);
}

static bool
find_time(const struct update *u, bool fresh, uint64_t *timep)
{
	*timep = fresh ? u->filter.judged.facts.header.time :
			 u->filter.header.time;
	return true;
}

/* --- going back --------------------------------------------------------- */

static bool
read_previous(struct update *u, int fd)
{
	const struct kv_pkbf none = { .fd = -1 };

	return tasks_judge_filter(u->installed.place.previous_name, fd,
	    u->source.settings.max_rate, "", &none, u->source.limits.stopped,
	    &u->filter.judged);
}

/*
 * The ETag of the one that is rolled back from is kept, to learn when the server
 * has another one. If the previous filter has the later revision, the ETag is
 * forgotten: it is the older one's.
 */
static void
note_rollback(struct update *u)
{
	if (!u->installed.is_good ||
	    u->filter.header.revision <= u->filter.judged.facts.header.revision)
		update_notes_forget_installed(&u->notes);
}

/* --- the command -------------------------------------------------------- */

static void
print_outcome(const struct update *u, enum update_outcome outcome)
{
	const struct filter_facts *f = &u->filter.judged.facts;
	uint32_t revision = u->filter.header.revision;
	char cost[UPDATE_FOLLOW_COST_BYTES];
	const char *verb;

	if (outcome == UPDATE_CURRENT) {
		printf(": already current, revision %" PRIu32 "\n", revision);
		return;
	}
	verb = update_verb(u);
	printf(": %s, revision ", verb);
	if (u->installed.is_good)
		printf("%" PRIu32 " -> ", revision);
	printf("%" PRIu32 ", %" PRIu32 " %s, %.3g%% of the bits set, false "
	       "positives %.3g%s\n",
	    f->header.revision, f->header.entries,
	    cli_plural(f->header.entries, "entry", "entries"), f->share * 100,
	    f->rate_by_bits, update_follow_cost(u, cost));
}

const struct update_kind update_filter_kind = {
	.what = "filter",
	.time_name = "its header's time",
	.read_installed = read_installed,
	.describe_installed = describe_installed,
	.find_time = find_time,
	.install = install_filter,
	.read_previous = read_previous,
	.note_rollback = note_rollback,
	.print_outcome = print_outcome,
};
