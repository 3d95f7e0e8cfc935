/* SPDX-License-Identifier: ISC */
#include "update/seen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "published/index.h"
#include "tasks/list.h"
#include "update/unwanted.h"
#include "update/update.h"

/* A new file with a smaller share of the entries or records is refused. */
#define ENTRIES_SHARE_MIN 0.5
#define SECONDS_A_DAY 86400

/* --- how old it is ------------------------------------------------------ */

/* Whether the installed filter is the highest revision so far. */
static bool
has_highest(const struct update *u)
{
	return u->installed.is_good &&
	    u->filter.header.revision >= u->notes.seen.highest;
}

static bool
check_revision(const struct update *u, const struct kv_pkbf_header *h)
{
	const char *shown = u->source.from.shown;

	if (has_highest(u) && h->revision < u->filter.header.revision)
		cli_error("%s: is revision %" PRIu32
			  ", older than the revision %" PRIu32
			  " that is installed; somebody may want old keys to "
			  "be accepted again. If it is right, use --force",
		    shown, h->revision, u->filter.header.revision);
	else if (!has_highest(u) && h->revision < u->notes.seen.highest)
		cli_error("%s: is revision %" PRIu32
			  ", older than the revision %" PRId64
			  " that was installed before; somebody may want old "
			  "keys to be accepted again. If it is right, use "
			  "--force",
		    shown, h->revision, u->notes.seen.highest);
	else
		return true;
	return false;
}

bool
update_seen_allows_header(const struct update *u,
    const struct kv_pkbf_header *h)
{
	const struct kv_pkbf_header *old = &u->filter.header;
	const char *shown = u->source.from.shown;
	const int64_t highest = has_highest(u) ?
	    old->revision :
	    u->notes.seen.highest;
	const uint64_t now = (uint64_t)time(NULL);

	/* It may be in place already, by --force. */
	if (u->options->force ||
	    (has_highest(u) && h->revision == old->revision &&
		h->time == old->time))
		return true;
	if (!check_revision(u, h))
		return false;
	if (highest >= 0 && h->revision > highest + INDEX_REVISION_JUMP_MAX)
		cli_error("%s: is revision %" PRIu32
			  ", more than %d above the latest so far, %" PRId64
			  ": a mistake, or meant to let no later one follow. "
			  "If it is right, use --force",
		    shown, h->revision, INDEX_REVISION_JUMP_MAX, highest);
	else if (h->time > now && h->time - now > SECONDS_A_DAY)
		cli_error("%s: its header's time is in the future; compare the "
			  "clock of this machine with its publisher's. If it "
			  "is right, use --force",
		    shown);
	else
		return true;
	return false;
}

bool
update_seen_allows_time(const struct update *u, int64_t time)
{
	const int64_t highest = u->notes.seen.highest;
	char date[UPDATE_DATE_BYTES], latest[UPDATE_DATE_BYTES];

	if (u->options->force || time >= highest)
		return true;
	update_sources_date(time, date);
	update_sources_date(highest, latest);
	return cli_error(
	    "%s: its list is of %.10s, older than the one of %.10s that was "
	    "installed before; somebody may want old keys to be accepted "
	    "again. If it is right, use --force",
	    u->source.from.shown, date, latest);
}

/* --- what it has lost --------------------------------------------------- */

/*
 * Adds n lost out of of to what the earlier updates lost. Those are counted
 * against the file that they began with.
 */
static void
add_losses(struct update *u, uint64_t n, uint64_t of)
{
	const struct update_seen *before = &u->notes.seen;
	struct update_seen *s = &u->seen;
	const bool any = before->lost > 0 && before->lost_of > 0;

	s->lost = (any ? before->lost : 0) + (int64_t)n;
	s->lost_of = any ? before->lost_of : (int64_t)of;
}

/* The estimate of the entries of a full filter is infinite. */
static double
finite_or_0(double entries)
{
	return isfinite(entries) ? entries : 0;
}

static int64_t
most_of(int64_t most, double entries)
{
	return entries > (double)most ? (int64_t)entries : most;
}

/*
 * Whether enough entries are left, of all filters so far. An almost empty filter
 * protects nobody. The entries of a full filter cannot be estimated.
 */
static bool
has_entries(const struct update *u, double old)
{
	const double fresh = u->filter.judged.facts.entries;
	const double most = (double)u->notes.seen.most;
	const char *shown = u->source.from.shown;

	if (u->installed.is_good && isfinite(old) &&
	    fresh < ENTRIES_SHARE_MIN * old)
		cli_error("%s: its bits look like %.0f entries, those of the "
			  "installed one like %.0f: most keys would be "
			  "accepted again. If it is right, use --force",
		    shown, fresh, old);
	else if (fresh < ENTRIES_SHARE_MIN * most)
		cli_error("%s: its bits look like %.0f entries, those of one "
			  "that was installed before like %.0f: most keys "
			  "would be accepted again. If it is right, use "
			  "--force",
		    shown, fresh, most);
	else
		return true;
	return false;
}

/*
 * Bits of other positions cannot be compared. The same share of them counts as
 * lost as before.
 */
static void
warn_of_other_size(struct update *u)
{
	const struct kv_pkbf_header *old = &u->filter.header;
	const struct kv_pkbf_header *h = &u->filter.judged.facts.header;
	const struct update_seen *before = &u->notes.seen;

	cli_error("warning: %s: has k %u and p %u, the installed one k %u and "
		  "p %u: its bits cannot be compared with that one's, so it "
		  "cannot be seen whether it lists the same keys",
	    u->source.from.shown, h->hashes, h->length, old->hashes,
	    old->length);
	if (before->lost > 0 && before->lost_of > 0) {
		u->seen.lost = (int64_t)((double)before->lost /
		    (double)before->lost_of *
		    (double)u->filter.judged.facts.set);
		u->seen.lost_of = (int64_t)u->filter.judged.facts.set;
	}
}

/* Whether k and p of both are the same. */
static bool
has_same_size(const struct update *u)
{
	const struct kv_pkbf_header *old = &u->filter.header;
	const struct kv_pkbf_header *h = &u->filter.judged.facts.header;

	return old->hashes == h->hashes && old->length == h->length;
}

/* Whether almost all bits of the installed filter are set in the new one. */
static bool
has_bits(struct update *u)
{
	const struct filter_judged *k = &u->filter.judged;
	uint64_t bound = (uint64_t)UPDATE_SEEN_KEYS * u->filter.header.hashes;
	uint64_t share;

	add_losses(u, k->lost, k->old_set);
	share = (uint64_t)u->seen.lost_of / UPDATE_SEEN_BITS_SHARE;
	bound = share > bound ? share : bound;
	if (k->lost == 0)
		return true;
	/* No successor of a filter loses one, so this is never in silence. */
	if ((uint64_t)u->seen.lost <= bound) {
		cli_error("warning: %s: %" PRIu64 " of the %" PRIu64
			  " bits of the installed one are no longer set: some "
			  "keys may be accepted again; ask its publisher which "
			  "and why",
		    u->source.from.shown, k->lost, k->old_set);
		return true;
	}
	return cli_error(
	    "%s: %" PRIu64 " of the %" PRIu64 " bits of the installed one are "
	    "no longer set: keys would be accepted again. All updates together "
	    "may take %" PRIu64 " away, and this one would make it %" PRId64
	    ". If it is right, use --force",
	    u->source.from.shown, k->lost, k->old_set, bound, u->seen.lost);
}

bool
update_seen_allows_filter(struct update *u)
{
	const bool good = u->installed.is_good, force = u->options->force;
	const bool same_size = good && has_same_size(u);
	const double old = good ?
	    filter_facts_entries(&u->filter.header, u->filter.judged.old_set) :
	    0;

	u->seen = u->notes.seen;
	u->seen.highest = u->filter.judged.facts.header.revision;
	if (force)
		u->seen.most = u->seen.lost = u->seen.lost_of = 0;
	else if (!has_entries(u, old) || (same_size && !has_bits(u)))
		return false;
	else if (good && !same_size)
		warn_of_other_size(u);
	u->seen.most = most_of(u->seen.most,
	    fmax(u->filter.judged.facts.entries, force ? 0 : finite_or_0(old)));
	return true;
}

bool
update_seen_allows_list(struct update *u)
{
	const struct update_list *l = &u->list;
	const struct update_installed *t = &u->installed;
	const char *shown = u->source.from.shown;
	uint64_t lost = 0;

	u->seen = (struct update_seen){ .highest = l->manifest.time };
	if (u->options->force) {
		u->seen.most = (int64_t)l->fresh.n;
		return true;
	}
	if (t->is_good &&
	    !tasks_lost_records(t->path, t->fd, l->old.n, shown, u->part.fd,
		&lost))
		return false;
	u->list.lost = lost;
	add_losses(u, lost, l->old.n);
	if (t->is_good &&
	    (double)l->fresh.n < ENTRIES_SHARE_MIN * (double)l->old.n)
		cli_error("%s: its list has %" PRIu64
			  " %s, the installed one %" PRIu64
			  ": most keys would be accepted again. If it is "
			  "right, use --force",
		    shown, l->fresh.n,
		    cli_plural(l->fresh.n, "record", "records"), l->old.n);
	else if ((double)l->fresh.n <
	    ENTRIES_SHARE_MIN * (double)u->notes.seen.most)
		cli_error("%s: its list has %" PRIu64
			  " %s, one that was installed before had %" PRId64
			  ": most keys would be accepted again. If it is "
			  "right, use --force",
		    shown, l->fresh.n,
		    cli_plural(l->fresh.n, "record", "records"),
		    u->notes.seen.most);
	else if (lost > 0 && u->seen.lost > u->seen.lost_of / 2)
		cli_error("%s: %" PRIu64 " of the %" PRIu64
			  " records of the installed one are not in its list: "
			  "their keys would be accepted again. With earlier "
			  "updates that makes %" PRId64 " of %" PRId64
			  ". If it is right, use --force",
		    shown, lost, l->old.n, u->seen.lost, u->seen.lost_of);
	else {
		u->seen.most = most_of(u->notes.seen.most,
		    (double)(l->old.n > l->fresh.n ? l->old.n : l->fresh.n));
		return true;
	}
	return false;
}

/* --- remembering it ----------------------------------------------------- */

void
update_seen_keep(struct update *u)
{
	u->notes.seen = u->seen;
	u->notes.rolled_back = u->notes.failed_since = 0;
	/* With --force it may be that. */
	update_unwanted_forget(&u->notes, u->fresh_sha256);
}

bool
update_seen_keep_current(struct update *u)
{
	const bool is_list = u->kind == &update_list_kind;
	const int64_t at = is_list ? u->list.known.time :
				     u->filter.header.revision;
	struct update_notes *s = &u->notes;
	const struct update_notes before = *s;

	if (u->options->force)
		s->seen = (struct update_seen){ .highest = at };
	if (s->seen.highest < at)
		s->seen.highest = at;
	/* Nothing is kept away any more. A rollback that was killed never was. */
	s->held = s->rolled_back = s->failed_since = 0;
	update_unwanted_forget(s, u->fresh_sha256);
	return strcmp(s->unwanted_file, before.unwanted_file) != 0 ||
	    s->held != before.held || s->rolled_back != before.rolled_back ||
	    s->failed_since != before.failed_since ||
	    memcmp(&s->seen, &before.seen, sizeof(s->seen)) != 0;
}

bool
update_seen_roll_back(struct update *u, int previous)
{
	const bool is_list = u->kind == &update_list_kind;
	const struct update_installed *t = &u->installed;
	const int64_t old = is_list ? u->list.known.time :
				      u->filter.header.revision;
	const int64_t back = is_list ? u->list.fresh_time :
				       u->filter.judged.facts.header.revision;
	struct update_notes *s = &u->notes;
	char sha256[UPDATE_DIGEST_CHARS] = "";

	if (!working_hash(previous, t->place.previous_name, u->fresh_sha256) ||
	    (t->is_good && !working_hash(t->fd, t->path, sha256)))
		return false;
	update_unwanted_forget(s, u->fresh_sha256);
	if (t->is_good)
		memcpy(s->unwanted_file, sha256, sizeof(s->unwanted_file));
	s->unwanted = t->is_good && !is_list ? old : -1;
	/* A list whose date is lost may be the newer one. */
	s->rolled_back = t->is_good && (old < 0 || old >= back);
	s->seen = (struct update_seen){ .highest = back };
	s->seen.most = most_of(0,
	    is_list ? (double)u->list.fresh.n :
		      finite_or_0(u->filter.judged.facts.entries));
	return true;
}
