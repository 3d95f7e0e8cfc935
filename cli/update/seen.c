/* SPDX-License-Identifier: ISC */
#include "update/seen.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "tasks/list.h"
#include "update/update.h"

/* Of bits that cannot be compared, a smaller share of the entries is refused. */
#define ENTRIES_SHARE_MIN 0.5
/* Of what is installed, this part may not be lost: a tenth. */
#define LOST_PART 10
/* A later revision must be able to follow. */
#define REVISION_JUMP_MAX 100000000
#define SECONDS_A_DAY 86400

/* --- how old it is ------------------------------------------------------ */

/* Whether the installed filter is the highest revision so far. */
static bool
has_highest(const struct update *u)
{
	return u->installed.is_good &&
	    u->filter.header.revision >= u->notes.highest;
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
	else if (!has_highest(u) && h->revision < u->notes.highest)
		cli_error("%s: is revision %" PRIu32
			  ", older than the revision %" PRId64
			  " that was installed before; somebody may want old "
			  "keys to be accepted again. If it is right, use "
			  "--force",
		    shown, h->revision, u->notes.highest);
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
	    u->notes.highest;
	const uint64_t now = (uint64_t)time(NULL);

	/* It may be in place already, by --force. */
	if (u->options->force ||
	    (has_highest(u) && h->revision == old->revision &&
		h->time == old->time))
		return true;
	if (!check_revision(u, h))
		return false;
	if (highest >= 0 && h->revision > highest + REVISION_JUMP_MAX)
		cli_error("%s: is revision %" PRIu32
			  ", more than %d above the latest so far, %" PRId64
			  ": a mistake, or meant to let no later one follow. "
			  "If it is right, use --force",
		    shown, h->revision, REVISION_JUMP_MAX, highest);
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
	const int64_t highest = u->notes.highest;
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

/* Whether n out of of, which are less than 2^60, may be lost. */
static bool
may_lose(uint64_t n, uint64_t of)
{
	return n == 0 || LOST_PART * n < of;
}

/*
 * Bits of other positions cannot be compared. So enough entries must be left, as
 * far as bits tell: those of a full filter cannot be estimated.
 */
static bool
has_entries(const struct update *u)
{
	const struct kv_pkbf_header *was = &u->filter.header;
	const struct kv_pkbf_header *h = &u->filter.judged.facts.header;
	const double old = filter_facts_entries(was, u->filter.judged.old_set);
	const double fresh = u->filter.judged.facts.entries;
	const char *shown = u->source.from.shown;

	if (isfinite(old) && fresh < ENTRIES_SHARE_MIN * old)
		return cli_error(
		    "%s: its bits look like %.0f entries, those of the "
		    "installed one like %.0f: most keys would be accepted "
		    "again. If it is right, use --force",
		    shown, fresh, old);
	cli_error("warning: %s: has k %u and p %u, the installed one k %u and "
		  "p %u: its bits cannot be compared with that one's, so it "
		  "cannot be seen whether it lists the same keys",
	    shown, h->hashes, h->length, was->hashes, was->length);
	return true;
}

bool
update_seen_allows_filter(const struct update *u)
{
	const struct filter_judged *k = &u->filter.judged;
	const struct kv_pkbf_header *old = &u->filter.header;
	const struct kv_pkbf_header *h = &k->facts.header;
	const char *shown = u->source.from.shown;

	if (u->options->force || !u->installed.is_good)
		return true;
	if (old->hashes != h->hashes || old->length != h->length)
		return has_entries(u);
	if (!may_lose(k->lost, k->old_set))
		return cli_error(
		    "%s: %" PRIu64 " of the %" PRIu64
		    " bits of the installed one are no longer set, a tenth or "
		    "more: keys would be accepted again. If it is right, use "
		    "--force",
		    shown, k->lost, k->old_set);
	/* No successor of a filter loses one, so this is never in silence. */
	if (k->lost > 0)
		cli_error("warning: %s: %" PRIu64 " of the %" PRIu64
			  " bits of the installed one are no longer set: some "
			  "keys may be accepted again; ask its publisher which "
			  "and why",
		    shown, k->lost, k->old_set);
	return true;
}

bool
update_seen_allows_list(struct update *u)
{
	const struct update_installed *t = &u->installed;
	struct update_list *l = &u->list;
	const char *shown = u->source.from.shown;

	if (u->options->force || !t->is_good)
		return true;
	if (!tasks_lost_records(t->path, t->fd, l->old.n, shown, u->part.reads,
		&l->lost))
		return false;
	return may_lose(l->lost, l->old.n) ||
	    cli_error("%s: %" PRIu64 " of the %" PRIu64
		      " records of the installed one are not in its list, a "
		      "tenth or more: their keys would be accepted again. If "
		      "it is right, use --force",
		shown, l->lost, l->old.n);
}

/* --- what was rolled back from ------------------------------------------ */

bool
update_unwanted_is(const struct update_notes *s, const char *sha256)
{
	return *sha256 != '\0' && strcmp(s->unwanted_file, sha256) == 0;
}

void
update_unwanted_report(const char *shown, const char *name)
{
	cli_error("%s: still has the %s that was rolled back here, which is "
		  "not installed again. Any other one that is newer is "
		  "installed by itself; to take this one, use --force",
	    shown, name);
}

/* Has the notes forget it, since it was installed again. */
static void
forget_unwanted(struct update_notes *s, const char *sha256)
{
	if (update_unwanted_is(s, sha256))
		s->unwanted_file[0] = '\0';
}

/* --- remembering it ----------------------------------------------------- */

/* The file whose revision or time is at is installed, and the server's. */
static void
keep(struct update *u, int64_t at)
{
	struct update_notes *s = &u->notes;

	if (u->options->force || s->highest < at)
		s->highest = at;
	s->rolled_back = s->failed_since = 0;
	s->asked = (int64_t)time(NULL);
	/* With --force it may be that. A rollback that was killed never was. */
	forget_unwanted(s, u->fresh_sha256);
}

void
update_seen_keep(struct update *u)
{
	keep(u,
	    u->kind == &update_list_kind ?
		u->list.manifest.time :
		u->filter.judged.facts.header.revision);
}

void
update_seen_keep_current(struct update *u)
{
	keep(u,
	    u->kind == &update_list_kind ? u->list.known.time :
					   u->filter.header.revision);
	/* Nothing is kept away any more. */
	u->notes.held = 0;
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
	forget_unwanted(s, u->fresh_sha256);
	if (t->is_good)
		memcpy(s->unwanted_file, sha256, sizeof(s->unwanted_file));
	s->unwanted = t->is_good && !is_list ? old : -1;
	/* A list whose date is lost may be the newer one. */
	s->rolled_back = t->is_good && (old < 0 || old >= back);
	s->highest = back;
	return true;
}
