/* SPDX-License-Identifier: ISC */
#include "reading/report.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "reading/finding.h"

void
report_init(struct report *r, const struct kv_judge *judge,
    const struct report_options *o)
{
	*r = (struct report){
		.judge = judge,
		.json = o->json,
		.all = o->all,
		.quiet = o->quiet,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
	};
}

static void
decide(const struct report *r, const struct kv_judge *judge,
    const struct input_key *key, struct kv_decision *d)
{
	(r->decide != NULL ? r->decide : input_judge)(judge, key, r->now, d);
}

static void
print_note(const struct report *r, const struct input_problem *note)
{
	if (r->found_note != NULL)
		r->found_note(r, note);
	else
		finding_print_note(r->err, note);
}

/* Counts a problem with a key of which no verdict was reached. */
static void
count_unjudged(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	const struct input_problem p = {
		.path = key->path,
		.line = key->line,
		.reason = d->reason,
	};

	r->problems++;
	r->unjudged++;
	if (r->on_unjudged != NULL)
		r->on_unjudged(&p);
	else
		print_note(r, &p);
}

/* Whether r->known refuses the key already, whatever its verdict but error. */
static bool
was_refused(const struct report *r, const struct kv_decision *known)
{
	return r->known != NULL && known->action == KV_ACTION_DENY &&
	    known->verdict != KV_VERDICT_ERROR;
}

/* report_key with r->by_action. */
static void
count_by_action(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	const bool listed = d->verdict == KV_VERDICT_LISTED;
	struct kv_decision known = { .verdict = KV_VERDICT_CLEAN };

	if (d->action != KV_ACTION_DENY && !listed &&
	    d->verdict != KV_VERDICT_ERROR)
		return;
	if (r->known != NULL)
		decide(r, r->known, key, &known);
	if (was_refused(r, &known))
		return;
	if (d->verdict == KV_VERDICT_ERROR) {
		if (r->known == NULL || known.verdict != KV_VERDICT_ERROR ||
		    (d->action == KV_ACTION_DENY &&
			known.action != KV_ACTION_DENY))
			count_unjudged(r, key, d);
		return;
	}
	if (d->action == KV_ACTION_DENY) {
		r->listed++;
		r->refused++;
	}
	if (r->on_listed != NULL &&
	    (d->action == KV_ACTION_DENY ||
		(listed && known.verdict != KV_VERDICT_LISTED)))
		r->on_listed(r, key, d);
}

static void
print_key(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	struct finding f;

	finding_describe(&f, r->judge,
	    r->name_source != NULL ? r->name_source : finding_name_source, key,
	    d, r->json);
	if (r->found != NULL)
		r->found(r, &f);
	else if (r->json)
		finding_print_json(r->out, r->judge, r->account, &f);
	else
		finding_print_text(r->out, r->judge, &f);
}

static void
print_problem(struct report *r, const struct input_problem *problem)
{
	if (r->found_problem != NULL)
		r->found_problem(r, problem);
	else
		finding_print_problem(r->out, r->err, r->json && !r->quiet,
		    r->account, problem);
}

/* Turns the decision about a key into that about a listed or allowed one. */
static void
decide_weak(const struct report *r, const struct input_key *key,
    enum weak_class class, struct kv_decision *d)
{
	const struct kv_config *config = &r->judge->config;
	const struct kv_key_line *allowed;
	uint8_t digest[KV_SHA256_BYTES];

	kv_fingerprint_digest(&key->key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
	allowed = kv_config_find_allowed(config, digest, r->now);
	d->verdict = allowed != NULL ? KV_VERDICT_ALLOWED : KV_VERDICT_LISTED;
	d->action = allowed != NULL ? KV_ACTION_ALLOW : config->on_hit;
	d->part = key->part;
	d->list = &kv_built_in;
	snprintf(d->source, sizeof(d->source), "%s", weak_class_name(class));
	snprintf(d->reason, sizeof(d->reason), "%s",
	    allowed != NULL ? allowed->reason : "");
}

/*
 * Keeps a key for report_weak. Returns whether that prints it: no list has it.
 */
static bool
keep_for_tests(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	const struct weak_place place = {
		.account = r->account,
		.row = r->row != NULL ? *r->row : 0,
		.judged = d->verdict == KV_VERDICT_CLEAN,
	};

	if (d->verdict != KV_VERDICT_CLEAN && d->verdict != KV_VERDICT_ERROR)
		return false;
	return weak_add(r->weak, key, &place) && place.judged;
}

void
report_key(struct report *r, const struct input_key *key)
{
	struct kv_decision d;

	if (r->on_key != NULL) {
		r->on_key(key, r->on_key_arg);
		return;
	}
	decide(r, r->judge, key, &d);
	report_decided(r, key, &d);
}

void
report_decided(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	bool wanted = r->all;

	if (r->weak != NULL && keep_for_tests(r, key, d))
		wanted = false;
	r->keys++;
	if (r->judged != NULL)
		r->judged(r, key, d);
	if (r->by_action) {
		count_by_action(r, key, d);
		return;
	}
	r->usable += d->verdict != KV_VERDICT_LISTED &&
	    d->verdict != KV_VERDICT_ERROR && d->action != KV_ACTION_DENY;
	switch (d->verdict) {
	case KV_VERDICT_ALLOWED:
		r->allowed++;
		break;
	case KV_VERDICT_CLEAN:
		r->clean++;
		break;
	case KV_VERDICT_LISTED:
		r->listed++;
		r->refused += d->action == KV_ACTION_DENY;
		wanted = true;
		break;
	case KV_VERDICT_UNSUPPORTED:
		r->unsupported++;
		r->refused += d->action == KV_ACTION_DENY;
		wanted = true;
		break;
	case KV_VERDICT_ERROR:
		if (r->partly) {
			r->problems++;
			r->unjudged++;
			break;
		}
		wanted = true;
		count_unjudged(r, key, d);
		break;
	}
	if (r->quiet || !wanted)
		return;
	print_key(r, key, d);
}

/* Of report_weak. */
struct last_tests {
	struct report *r;
	void (*moved)(const struct weak_found *f, enum kv_verdict verdict,
	    void *arg);
	void *arg;
};

void
report_move(struct report *r, const struct weak_found *f,
    enum kv_verdict verdict)
{
	if (f->place.judged) {
		r->clean--;
		r->usable -= verdict == KV_VERDICT_LISTED && r->usable > 0;
	} else {
		r->problems--;
		r->unjudged--;
	}
	if (verdict == KV_VERDICT_LISTED)
		r->listed++;
	else
		r->allowed++;
}

/* Reports a key that no list has. */
static void
report_found(const struct weak_found *f, void *arg)
{
	const struct last_tests *last = arg;
	struct report *r = last->r;
	const char *account = r->account;
	struct kv_decision d;

	r->account = f->place.account;
	decide(r, r->judge, f->key, &d);
	if (f->class != WEAK_NONE) {
		decide_weak(r, f->key, f->class, &d);
		report_move(r, f, d.verdict);
		if (last->moved != NULL)
			last->moved(f, d.verdict, last->arg);
		if (r->judged != NULL)
			r->judged(r, f->key, &d);
	}
	if (!r->quiet && (f->class != WEAK_NONE || (r->all && f->place.judged)))
		print_key(r, f->key, &d);
	r->account = account;
}

static void
report_limit(const struct input_problem *p, void *arg)
{
	report_problem(arg, p);
}

bool
report_weak(struct report *r, size_t threads, bool progress,
    void (
	*moved)(const struct weak_found *f, enum kv_verdict verdict, void *arg),
    void *arg)
{
	struct last_tests last = { .r = r, .moved = moved, .arg = arg };
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	bool ok;

	if (threads == 0)
		threads = online > 0 ? (size_t)online : 1;
	if (threads > PARALLEL_THREADS_MAX)
		threads = PARALLEL_THREADS_MAX;
	weak_each_limited(r->weak, report_limit, r);
	ok = weak_finish(r->weak, threads, progress, report_found, &last);
	weak_free(r->weak);
	r->weak = NULL;
	return ok;
}

/* Whether r->judge refuses keys of unknown types, and r->known does not. */
static bool
refuses_unknown(const struct report *r)
{
	return r->judge->config.on_unsupported == KV_ACTION_DENY &&
	    (r->known == NULL ||
		r->known->config.on_unsupported != KV_ACTION_DENY);
}

void
report_problem(struct report *r, const struct input_problem *problem)
{
	const bool refused = problem->unknown_type && refuses_unknown(r);

	r->refused += refused;
	if (refused && r->by_action)
		r->listed++;
	else if (problem->unknown_type)
		r->unsupported++;
	else {
		r->problems++;
		r->unjudged += problem->line == 0;
	}
	if (r->on_unjudged != NULL &&
	    (problem->unknown_type ? refused : problem->line == 0))
		r->on_unjudged(problem);
	if (r->on_key != NULL || r->on_unjudged != NULL)
		return;
	if (problem->archive && !r->all && !r->json && !r->quiet)
		r->archives++;
	else
		print_problem(r, problem);
}

void
report_problem_at(struct report *r, const char *path, uint64_t line,
    const char *reason)
{
	const struct input_problem p = {
		.path = path,
		.line = line,
		.reason = reason,
	};

	report_problem(r, &p);
}

void
report_summary(const struct report *r)
{
	if (r->archives > 0)
		cli_error("%" PRIu64 " %s not looked into; --all names them",
		    r->archives,
		    cli_plural(r->archives, "archive was", "archives were"));
	fprintf(r->err,
	    "keyveto: %" PRIu64 " key%s %s %" PRIu64 " %s%s: %" PRIu64
	    " listed, %" PRIu64 " clean",
	    r->keys, cli_plural(r->keys, "", "s"), r->servers ? "of" : "in",
	    r->files, r->servers ? "server" : "file",
	    cli_plural(r->files, "", "s"), r->listed, r->clean);
	if (r->allowed > 0)
		fprintf(r->err, ", %" PRIu64 " allowed", r->allowed);
	if (r->unsupported > 0)
		fprintf(r->err, ", %" PRIu64 " of a type unknown here",
		    r->unsupported);
	if (r->problems > 0)
		fprintf(r->err, ", %" PRIu64 " problem%s", r->problems,
		    cli_plural(r->problems, "", "s"));
	putc('\n', r->err);
}

int
report_status(const struct report *r)
{
	if (r->listed > 0)
		return CLI_LISTED;
	return r->unsupported + r->problems > 0 ?
	    CLI_UNCHECKED :
	    CLI_NOTHING_LISTED;
}
