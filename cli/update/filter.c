/* SPDX-License-Identifier: ISC */
/* update/filter: fetches a filter, verifies it, and installs it. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "tasks/filter.h"
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

/* Whether it may come by a patch. --force has all of it come anew. */
static bool
may_patch(const struct update *u)
{
	return u->installed.is_good && !u->options->force;
}

/* Notes the server's name for the installed filter, whose stat is st. */
static void
note_installed(struct update *u, const struct stat *st)
{
	const struct fetch *f = &u->filter.there;
	struct update_notes *s = &u->notes;

	memcpy(s->source, u->source.name, sizeof(s->source));
	memcpy(s->etag, f->etag, sizeof(s->etag));
	/* A signature is asked for by its ETag alone, and is as short. */
	if (u->source.signers == -1)
		memcpy(s->last_modified, f->last_modified,
		    sizeof(s->last_modified));
	else
		s->last_modified[0] = '\0';
	memcpy(s->signature, u->filter.signature, sizeof(s->signature));
	memcpy(s->signers, u->source.signers_name, sizeof(s->signers));
	update_notes_fit(s, st);
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
may_receive(struct update *u, const struct kv_pkbf_header *h)
{
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
report_no_room(struct update *u)
{
	int saved = errno;

	progress_clear(&u->progress);
	return cli_error(
	    "%s: cannot be written beside the filter: %s; it needs %jd bytes",
	    u->source.from.shown, strerror(saved),
	    (intmax_t)u->filter.expected);
}

/*
 * Has the disk keep room for the part, so that a full one is known now. Some
 * file systems cannot tell. False with errno.
 */
static bool
reserve_room(int fd, off_t size)
{
	return size == 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0 ||
	    errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR;
}

/*
 * Judges the header as soon as it is there: no more bytes are accepted than it
 * says. False after a message.
 */
static bool
judge_header(struct update *u)
{
	const char *shown = u->source.from.shown;
	const uint64_t max = u->source.settings.max_bytes;
	const struct kv_pkbf_header *h;
	struct filter_head head;
	off_t expected;

	if (u->filter.expected != 0 || u->part.len < KV_PKBF_HEADER_BYTES)
		return true;
	progress_clear(&u->progress);
	if (!tasks_filter_head(shown, u->part.reads, &head))
		return false;
	if (head.whole == KV_ERR_SYSTEM)
		return cli_error("%s: %s", shown, strerror(head.error));
	if (head.header_err != KV_OK)
		return cli_error("%s: %s: not a filter; correct URL", shown,
		    kv_strerror(head.header_err));
	h = &head.header;
	u->filter.expected = expected = kv_pkbf_file_bytes(h->length);
	if ((uint64_t)(expected - KV_PKBF_HEADER_BYTES) > max)
		return cli_error(
		    "%s: would have %jd bytes, which is more than MaxSize "
		    "allows (%" PRIu64 "); if that is right, raise MaxSize",
		    shown, (intmax_t)expected, max);
	if (!may_receive(u, h))
		return false;
	progress_clear(&u->progress);
	progress_start(&u->progress, "fetching", (uint64_t)expected);
	progress_add(&u->progress, (uint64_t)u->part.len);
	return reserve_room(u->part.fd, expected) || report_no_room(u);
}

/* Call before the first byte, or if all are there. False after a message. */
static bool
begin_receiving(struct update *u)
{
	u->filter.expected = 0;
	progress_start(&u->progress, "fetching", 0);
	return judge_header(u);
}

static bool
count_data(size_t len, void *arg)
{
	struct update *u = arg;

	if (len == 0)
		return report_no_room(u);
	u->part.len += (off_t)len;
	if (u->filter.expected != 0)
		progress_add(&u->progress, len);
	else if (!judge_header(u))
		return false;
	if (u->filter.expected == 0 || u->part.len <= u->filter.expected)
		return true;
	progress_clear(&u->progress);
	return cli_error(
	    "%s: is longer than the %jd bytes that its header says: damaged, "
	    "or not a filter",
	    u->source.from.shown, (intmax_t)u->filter.expected);
}

/* Call after the last byte. False after a message if some are missing. */
static bool
is_complete(struct update *u)
{
	const off_t expected = u->filter.expected;

	progress_clear(&u->progress);
	if (expected != 0 && u->part.len == expected)
		return true;
	if (expected == 0)
		return cli_error(
		    "%s: has %jd bytes, fewer than the header of a filter; "
		    "correct URL",
		    u->source.from.shown, (intmax_t)u->part.len);
	return cli_error(
	    "%s: ends after %jd of the %jd bytes that its header says: cut "
	    "short; try again later",
	    u->source.from.shown, (intmax_t)u->part.len, (intmax_t)expected);
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

	return tasks_judge_filter(u->source.from.shown, u->part.reads,
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
	return working_hash(u->part.reads, u->source.from.shown, received) &&
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
is_unwanted(struct update *u)
{
	if (u->notes.unwanted_file[0] == '\0')
		return false;
	if (!working_hash(u->part.reads, u->source.from.shown, u->fresh_sha256))
		return true;
	/* A rollback that was killed left the installed file where it is. */
	if (u->options->force ||
	    !update_unwanted_is(&u->notes, u->fresh_sha256) ||
	    is_same_file(u, u->fresh_sha256))
		return false;
	report_unwanted(u);
	u->notes.rolled_back = 1;
	if (!u->options->dry_run)
		note_installed(u, &u->installed.st);
	return true;
}

/* Judges the file in u->part, which has what is signed, and installs it. */
static enum update_outcome
judge_and_install(struct update *u)
{
	const struct update_installed *t = &u->installed;
	enum update_outcome outcome;
	int fd = u->part.reads;
	struct stat st;

	if (is_unwanted(u) || !judge_received(u))
		return UPDATE_FAILED;
	outcome = judge_by_installed(u);
	if (outcome == UPDATE_CURRENT && !u->options->dry_run)
		note_installed(u, &t->st);
	if (outcome != UPDATE_REPLACED)
		return outcome;
	if (!update_never_listed_allows(u, fd) ||
	    !update_brake_allows(u, fd, NULL))
		return UPDATE_FAILED;
	outcome = update_put_in_place(u, &st);
	if (u->replaced)
		note_installed(u, &st);
	return outcome;
}

/* --- asking for it ------------------------------------------------------ */

/* What came of asking. The zero value is failure. */
enum answer {
	ANSWER_FAILED = 0, /* after a message */
	ANSWER_MISFIT,	   /* the signature is no good one of the filter */
	ANSWER_SAME,	   /* the server has what the notes are about */
	ANSWER_INSTALLED,  /* the server has what is installed */
	ANSWER_NEW,	   /* the server may have another one */
	ANSWER_UNKNOWN,	   /* the same, but it does not answer HEAD */
	ANSWER_RECEIVED,   /* u->part has the server's filter */
};

static enum update_signature
verify(const struct update *u, int fd, int signature, bool quiet)
{
	if (u->source.signers == -1)
		return UPDATE_SIGNATURE_GOOD;
	return update_signature_verify(u, fd, NAMESPACE,
	    quiet ? NULL : u->kind->what, u->source.signature.shown, signature);
}

/*
 * Asks by something small what the server has: by the signature, or for the head
 * of the filter.
 */
static enum answer
ask(struct update *u, int *signaturep)
{
	const struct update_notes *s = &u->notes;
	struct fetch *f = &u->filter.there;
	enum fetch_end end;

	*signaturep = -1;
	if (u->source.signers != -1) {
		end = update_signature_fetch(u, s->etag, f, signaturep);
		return end == FETCH_DONE ? ANSWER_NEW :
		    end == FETCH_FAILED	 ? ANSWER_FAILED :
					   ANSWER_SAME;
	}
	*f = (struct fetch){
		.place = &u->source.from,
		.limits = &u->source.limits,
		.if_none_match = s->etag,
		.if_modified_since = s->etag[0] != '\0' ? "" : s->last_modified,
		.head_only = true,
		.progress = &u->progress,
		.quiet = true,
	};
	if (!may_patch(u) || !f->place->is_url)
		return ANSWER_NEW;
	end = fetch_run(f);
	return end == FETCH_DONE ? ANSWER_NEW :
	    end == FETCH_FAILED	 ? ANSWER_UNKNOWN :
				   ANSWER_SAME;
}

/* Compares the signature with what is known, and with what is installed. */
static enum answer
compare(struct update *u, int signature)
{
	const struct update_installed *t = &u->installed;

	if (!working_hash(signature, u->source.signature.shown,
		u->filter.signature))
		return ANSWER_FAILED;
	if (u->options->force || !t->is_good)
		return ANSWER_NEW;
	if (strcmp(u->notes.signature, u->filter.signature) == 0)
		return ANSWER_SAME;
	switch (verify(u, t->fd, signature, true)) {
	case UPDATE_SIGNATURE_GOOD:
		/* A rollback that was killed may have noted it as unwanted. */
		if (u->notes.unwanted_file[0] != '\0' &&
		    !working_hash(t->fd, t->path, u->fresh_sha256))
			return ANSWER_FAILED;
		if (!u->options->dry_run)
			note_installed(u, &t->st);
		return ANSWER_INSTALLED;
	case UPDATE_SIGNATURE_BAD:
		return ANSWER_NEW;
	default:
		return ANSWER_FAILED;
	}
}

/* Receives the filter by a patch. False, without a message, if there is none. */
static bool
receive_patched(struct update *u, int signature)
{
	const struct update_installed *t = &u->installed;
	char sha256[UPDATE_DIGEST_CHARS];

	if (!may_patch(u) || !working_hash(t->fd, t->path, sha256) ||
	    !update_patch_receive(u, &u->source.from, sha256))
		return false;
	if (verify(u, u->part.reads, signature, true) == UPDATE_SIGNATURE_GOOD)
		return true;
	u->patch_bytes = 0;
	(void)update_part_empty(&u->part);
	return false;
}

/* Receives all of the filter. */
static enum answer
receive_whole(struct update *u, int signature, bool last)
{
	const struct update_notes *s = &u->notes;
	const bool asks = signature == -1;
	struct fetch f = {
		.place = &u->source.from,
		.limits = &u->source.limits,
		.if_none_match = asks ? s->etag : "",
		.if_modified_since = asks && s->etag[0] == '\0' ?
		    s->last_modified :
		    "",
		.into = u->part.fd,
		.arrived = count_data,
		.arg = u,
		.progress = &u->progress,
	};
	enum fetch_end end;

	if (!begin_receiving(u))
		return ANSWER_FAILED;
	end = fetch_run(&f);
	if (asks)
		u->filter.there = f;
	if (end != FETCH_DONE)
		return end == FETCH_FAILED ? ANSWER_FAILED : ANSWER_SAME;
	if (!is_complete(u))
		return ANSWER_FAILED;
	switch (verify(u, u->part.reads, signature, !last)) {
	case UPDATE_SIGNATURE_GOOD:
		return ANSWER_RECEIVED;
	case UPDATE_SIGNATURE_BAD:
		return ANSWER_MISFIT;
	default:
		return ANSWER_FAILED;
	}
}

/* Receives what the server has, which may be new. */
static enum answer
receive_new(struct update *u, int signature, bool patches, bool last)
{
	if (patches && receive_patched(u, signature))
		return begin_receiving(u) && is_complete(u) ?
		    ANSWER_RECEIVED :
		    ANSWER_FAILED;
	return update_part_empty(&u->part) ?
	    receive_whole(u, signature, last) :
	    ANSWER_FAILED;
}

/* Asks, and receives the filter if there is a new one. */
static enum answer
receive(struct update *u, bool last)
{
	int signature;
	enum answer answer = ask(u, &signature);

	if (answer == ANSWER_NEW && signature != -1)
		answer = compare(u, signature);
	if (answer == ANSWER_NEW || answer == ANSWER_UNKNOWN)
		answer = receive_new(u, signature, answer == ANSWER_NEW, last);
	io_close(signature);
	return answer;
}

/*
 * The publisher may be replacing the filter and its signature: both are asked
 * for once more.
 */
static enum answer
receive_pair(struct update *u)
{
	enum answer answer = receive(u, false);

	if (answer == ANSWER_MISFIT)
		answer = update_wait_before_again(u) ?
		    receive(u, true) :
		    ANSWER_FAILED;
	/* If a signature was good before, this one is only missing. */
	if (answer == ANSWER_MISFIT && !is_vouched_for(u) &&
	    is_same_file(u, ""))
		cli_error("%s: the installed filter is this same file: no good "
			  "signature of it is known either; ask its publisher",
		    u->installed.path);
	return answer;
}

static enum update_outcome
install_filter(struct update *u)
{
	struct update_notes *s = &u->notes;

	/* It is installed again, or there is no filter to prefer to it. */
	if (!u->installed.is_good || s->unwanted <= u->filter.header.revision)
		s->unwanted = -1;
	/* update_notes_load cannot tell that from the notes alone. */
	if (s->unwanted == -1 && s->unwanted_file[0] == '\0')
		s->rolled_back = 0;
	/*
	 * The ETag is of another URL, of the filter instead of its signature or
	 * the other way round, or all must be fetched again.
	 */
	if (u->options->force || strcmp(s->source, u->source.name) != 0 ||
	    !is_vouched_for(u) ||
	    (s->signature[0] != '\0') != (u->source.signers != -1))
		s->etag[0] = s->last_modified[0] = s->signature[0] = '\0';
	switch (receive_pair(u)) {
	case ANSWER_RECEIVED:
		return judge_and_install(u);
	case ANSWER_INSTALLED:
		return UPDATE_CURRENT;
	case ANSWER_SAME:
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
	char patch[UPDATE_PATCH_COST_BYTES];
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
	    f->rate_by_bits, update_patch_cost(u, patch));
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
