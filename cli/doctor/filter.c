/* SPDX-License-Identifier: ISC */
/* The filters: whether they can be read, are fresh, and list what they must. */
#include "doctor/doctor.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "keys/input.h"
#include "reading/keys.h"

#define CANARIES_SHOWN 3
#define NO_FILTER "there is no filter; exact lists decide"
#define RATE_HIGH 1e-4 /* one clean key in ten thousand */
#define RATE_TOO_HIGH 1e-2

/* Adds a finding about a filter that a login cannot open. */
static void
add_unopened(struct doctor *d, const struct kv_filter *f)
{
	/* The default one, of a machine that has got nothing yet. */
	if (d->judging.judge.n_lists == 0 && access(f->path, F_OK) == -1 &&
	    strcmp(f->path, KV_CONFIG_FILTER_PATH) == 0)
		doctor_add(d, d->is_read ? DOCTOR_BLIND : DOCTOR_BROKEN,
		    "type keyveto update --source badkeys, which fetches the "
		    "free list and says which line to add; until then OnError "
		    "decides",
		    "%s", f->why);
	else
		doctor_add(d, DOCTOR_BLIND, doctor_remedy_unopened(f->path),
		    "%s", f->why);
}

void
doctor_filter(struct doctor *d)
{
	const struct kv_judge *judge = &d->judging.judge;
	char why[256];

	if (d->unread[0] != '\0' && judge->n_filters > 0) {
		doctor_add(d, DOCTOR_UNSEEN, NULL, "not looked at: %s",
		    d->unread);
		return;
	}
	for (size_t i = 0; i < judge->n_filters; i++) {
		const struct kv_filter *f = &d->judging.judge.filter[i];
		const struct kv_pkbf_header *h = &d->facts[i].header;

		if (f->pkbf.fd == -1)
			add_unopened(d, f);
		else if (!d->has_facts[i])
			doctor_add(d, DOCTOR_BLIND, DOCTOR_DAMAGED,
			    "%s: cannot be read to its end", f->path);
		else if (!filter_facts_are_consistent(&d->facts[i], why,
			     sizeof(why)))
			doctor_add(d, DOCTOR_BROKEN, "see keyveto filter info",
			    "%s: %s", f->path, why);
		else if (d->facts[i].set == 0)
			doctor_add(d, DOCTOR_BROKEN,
			    "install a filter, or add "
			    "keys with keyveto filter add",
			    "%s is empty: it lists no key", f->path);
		else
			doctor_add(d, DOCTOR_OK, NULL,
			    "%s: revision %" PRIu32 ", %" PRIu32 " %s", f->path,
			    h->revision, h->entries,
			    cli_plural(h->entries, "entry", "entries"));
	}
	if (d->judging.judge.broken[0] != '\0')
		doctor_not_looked_at(d);
	else if (d->judging.judge.n_filters == 0 &&
	    d->o->judge.n_blocklists == 0 &&
	    access(KV_CONFIG_FILTER_PATH, F_OK) == 0)
		doctor_add(d, DOCTOR_WARNING,
		    "add the line 'Filter " KV_CONFIG_FILTER_PATH
		    "' to keyveto.conf, or remove the file",
		    "no login consults " KV_CONFIG_FILTER_PATH
		    ": with a Blocklist line in keyveto.conf it needs a line "
		    "of its own");
	else if (d->judging.judge.n_filters == 0)
		doctor_add_unused(d, NO_FILTER);
}

/* Adds a warning if the check has no finding: no filter could be read. */
static void
warn_without_filter(struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->finding[i].check == d->check)
			return;
	if (d->judging.judge.n_filters == 0 && d->judging.judge.n_lists > 0)
		doctor_add_unused(d, NO_FILTER);
	else
		doctor_add(d, DOCTOR_WARNING, NULL,
		    "not looked at, since no filter can be read");
}

void
doctor_filter_age(struct doctor *d)
{
	const uint64_t now = (uint64_t)d->now;
	char when[64];

	for (size_t i = 0; i < d->judging.judge.n_filters; i++) {
		const char *path = d->facts[i].path;
		const uint64_t time = d->facts[i].header.time;

		/* doctor_filter reports a time that cannot be written. */
		if (!d->has_facts[i] ||
		    !filter_facts_format_time(time, when, sizeof(when)))
			continue;
		if (time == 0)
			doctor_add(d, DOCTOR_WARNING, "install one with a date",
			    "%s does not say when it was made", path);
		else if (time > now + DOCTOR_DAY_SECONDS)
			doctor_add(d, DOCTOR_WARNING,
			    "compare the clocks of this machine "
			    "and of the one that made it",
			    "%s: was made in the future: %s", path, when);
		else if (d->o->max_age > 0 && time < now &&
		    now - time > d->o->max_age * DOCTOR_DAY_SECONDS)
			doctor_add(d, DOCTOR_WARNING,
			    "install a newer one (keyveto update); keys that "
			    "were leaked since are let in",
			    "%s: was made %s, is %" PRIu64 " days old", path,
			    when, (now - time) / DOCTOR_DAY_SECONDS);
		else
			doctor_add(d, DOCTOR_OK, NULL, "%s: was made %s", path,
			    when);
	}
	warn_without_filter(d);
}

void
doctor_filter_rate(struct doctor *d)
{
	for (size_t i = 0; i < d->judging.judge.n_filters; i++) {
		const struct filter_facts *f = &d->facts[i];
		double rate;

		if (!d->has_facts[i])
			continue;
		rate = f->rate_by_bits;
		doctor_add(d,
		    rate >= RATE_TOO_HIGH ? DOCTOR_BROKEN :
			rate >= RATE_HIGH ? DOCTOR_WARNING :
					    DOCTOR_OK,
		    "use a larger filter; until then, keyveto allow lets in a "
		    "clean key that it refuses",
		    "%s: %.4g%% of its bits are set: lists a clean key with a "
		    "chance of %.3g",
		    f->path, f->share * 100, rate);
	}
	warn_without_filter(d);
}

struct canaries {
	struct doctor *d;
	uint64_t keys, problems, missing;
};

/* Looks a key up; adds a finding if no filter and no list has it. */
static void
check_canary(const struct input_key *key, void *arg)
{
	struct canaries *c = arg;
	char fingerprint[KV_FINGERPRINT_BYTES];
	struct kv_decision decision;

	c->keys++;
	judging_key(&c->d->judging.judge, key, c->d->now, &decision);
	if (decision.verdict == KV_VERDICT_LISTED || decision.hits != 0 ||
	    decision.list != NULL)
		return;
	if (c->missing++ >= CANARIES_SHOWN)
		return;
	finding_format_fingerprint(&key->key, fingerprint);
	doctor_add(c->d, DOCTOR_BROKEN,
	    "install a filter or a list that has it, or take it out of the "
	    "file",
	    "%s:%" PRIu64 ": %s %s is %s", key->path, key->line, key->type,
	    fingerprint,
	    decision.verdict == KV_VERDICT_ERROR ? decision.reason :
						   "not listed");
}

/* Adds a finding for the first line that is no key. */
static void
warn_of_line(const struct input_problem *problem, void *arg)
{
	struct canaries *c = arg;

	if (c->problems++ == 0)
		doctor_add(c->d, DOCTOR_WARNING,
		    "correct that line of the file", "%s:%" PRIu64 ": %s",
		    problem->path, problem->line, problem->reason);
}

void
doctor_canaries(struct doctor *d)
{
	struct canaries c = { .d = d };
	const struct input_sink sink = {
		.key = check_canary,
		.problem = warn_of_line,
		.arg = &c,
	};
	const char *path = d->o->canary;
	struct stat st;

	if (path == NULL) {
		path = DOCTOR_CANARY_PATH;
		if (lstat(path, &st) == -1 && errno == ENOENT) {
			doctor_add_unused(d, "there is no " DOCTOR_CANARY_PATH);
			return;
		}
	}
	if (d->judging.judge.n_filters + d->judging.judge.n_lists == 0) {
		warn_without_filter(d);
		return;
	}
	/* A FIFO or a device may have no end. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		doctor_add(d, DOCTOR_WARNING, "put a file of keys there",
		    "%s: not a regular file", path);
		return;
	}
	reading_keys(path, &sink);
	if (c.missing > CANARIES_SHOWN)
		doctor_add(d, DOCTOR_BROKEN, NULL,
		    "%s: %" PRIu64 " more %s not listed", path,
		    c.missing - CANARIES_SHOWN,
		    cli_plural(c.missing - CANARIES_SHOWN, "key is",
			"keys are"));
	else if (c.keys == 0 && c.problems == 0)
		doctor_add(d, DOCTOR_WARNING,
		    "put keys into it that filters or lists must have, or "
		    "remove it",
		    "%s: no key in it", path);
	else if (c.missing == 0 && c.problems == 0)
		doctor_add(d, DOCTOR_OK, NULL, "%s: its %" PRIu64 " %s listed",
		    path, c.keys, cli_plural(c.keys, "key is", "keys are"));
}
