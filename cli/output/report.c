/* SPDX-License-Identifier: ISC */
#include "output/report.h"

#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kv_spki.h"
#include "output/json_text.h"
#include "weak/parallel.h"

bool
report_option(const struct cli_command *cmd, int opt, struct report_options *o,
    int *statusp)
{
	*statusp = CLI_UNCHECKED;
	switch (opt) {
	case REPORT_OPT_JSON:
		o->json = true;
		return true;
	case REPORT_OPT_ALL:
		o->all = true;
		return true;
	case REPORT_OPT_QUIET:
		o->quiet = true;
		return true;
	case CLI_OPT_CONFIG:
	case CLI_OPT_FILTER:
	case CLI_OPT_BLOCKLIST:
		return cli_judge_option(&o->judge, opt, optarg);
	case CLI_OPT_HELP:
		*statusp = cli_help(cmd);
		return false;
	default:
		return false;
	}
}

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
print_json(struct report *r, json_t *object)
{
	if (r->account != NULL)
		json_object_set_new(object, "account", json_text(r->account));
	if (json_dumpf(object, r->out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0)
		putc('\n', r->out);
	json_decref(object);
}

/* What names the owner: its own name, and the dn if that is another. */
static void
add_owner(json_t *object, const struct owner *owner)
{
	if (owner->name.len > 0)
		json_object_set_new(object, "owner",
		    json_bytes(owner->name.p, owner->name.len));
	if (owner->dn.len > 0)
		json_object_set_new(object, "dn",
		    json_bytes(owner->dn.p, owner->dn.len));
}

static void
print_owner(FILE *out, const struct owner *owner)
{
	if (owner->name.len == 0)
		return;
	fputs(" (owner: ", out);
	cli_print_safe(out, owner->name.p, owner->name.len);
	if (owner->dn.len > 0 && !kv_span_equal(owner->name, owner->dn)) {
		fputs(", ", out);
		cli_print_safe(out, owner->dn.p, owner->dn.len);
	}
	putc(')', out);
}

static void
print_key_json(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	uint8_t buf[KV_SPKI_MAX_BYTES], digest[KV_SHA256_BYTES];
	char hex[2 * KV_SHA256_BYTES + 1], source[KV_SOURCE_NAME_BYTES];
	struct kv_span spki = key->spki;
	json_t *filters = json_array(), *lists = json_array();
	json_t *sources = json_array(), *object;

	/* The SPKI that is looked up for a key: its first. */
	if (key->key.type != KV_KEY_NONE) {
		spki.p = buf;
		if (kv_spki_encode(&key->key, 0, buf, sizeof(buf), &spki.len) !=
		    KV_OK)
			spki.len = 0;
	}
	kv_fingerprint_digest_blob(spki.p, spki.len, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	for (size_t i = 0; i < r->judge->n_filters; i++) {
		if (d->hits >> i & 1)
			json_array_append_new(filters,
			    json_text(r->judge->filter[i].path));
	}
	if (d->list == &kv_built_in) {
		json_array_append_new(lists, json_string(d->list->path));
		json_array_append_new(sources, json_string(d->source));
	}
	for (size_t i = 0; i < r->judge->n_lists; i++) {
		if ((d->list_hits >> i & 1) == 0)
			continue;
		json_array_append_new(lists, json_text(r->judge->list[i].path));
		kv_sources_name(r->judge->list[i].sources, d->source_id[i],
		    source);
		json_array_append_new(sources, json_string(source));
	}
	object = json_pack("{so sI ss so sI ss ss ss so so so so so so}",
	    "file", json_text(key->path), "line", (json_int_t)key->line,
	    "verdict", kv_verdict_name(d->verdict), "type",
	    json_text(key->type), "bits", (json_int_t)key->bits, "fingerprint",
	    d->fingerprint, "spki_sha256", hex, "part", kv_part_name(key->part),
	    "comment", json_bytes(key->comment.p, key->comment.len), "filters",
	    filters, "lists", lists, "source",
	    d->list != NULL ? json_string(d->source) : json_null(), "sources",
	    sources, "reason", json_text(d->reason));
	add_owner(object, &key->owner);
	print_json(r, object);
}

/* Prints "PATH:LINE: ", or "PATH: " if line is 0. */
static void
print_place(FILE *out, const char *path, uint64_t line)
{
	cli_print_safe(out, path, strlen(path));
	if (line > 0)
		fprintf(out, ":%" PRIu64, line);
	fputs(": ", out);
}

static void
print_key_text(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	FILE *out = r->out;
	char source[KV_SOURCE_NAME_BYTES];

	print_place(out, key->path, key->line);
	fprintf(out, "%s: ", kv_verdict_name(d->verdict));
	cli_print_safe(out, key->type, strlen(key->type));
	fprintf(out, " %u %s", key->bits,
	    d->fingerprint[0] != '\0' ? d->fingerprint : "-");
	if (key->comment.len > 0) {
		putc(' ', out);
		cli_print_safe(out, key->comment.p, key->comment.len);
	}
	if (key->part == KV_PART_CA)
		fputs(" (CA)", out);
	print_owner(out, &key->owner);
	for (size_t i = 0; i < r->judge->n_filters; i++) {
		if ((d->hits >> i & 1) == 0)
			continue;
		fputs(" [", out);
		cli_print_safe(out, r->judge->filter[i].path,
		    strlen(r->judge->filter[i].path));
		putc(']', out);
	}
	if (d->list == &kv_built_in)
		fprintf(out, " [%s %s]", d->list->path, d->source);
	for (size_t i = 0; i < r->judge->n_lists; i++) {
		if ((d->list_hits >> i & 1) == 0)
			continue;
		kv_sources_name(r->judge->list[i].sources, d->source_id[i],
		    source);
		fputs(" [", out);
		cli_print_safe(out, r->judge->list[i].path,
		    strlen(r->judge->list[i].path));
		fprintf(out, " %s]", source);
	}
	if (d->reason[0] != '\0') {
		fputs(" (", out);
		cli_print_safe(out, d->reason, strlen(d->reason));
		putc(')', out);
	}
	putc('\n', out);
}

/* Whether r->known says as much of the key as d does, or more. */
static bool
is_known(const struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	struct kv_decision known;

	if (r->known == NULL)
		return false;
	input_judge(r->known, key, r->now, &known);
	return known.verdict == KV_VERDICT_LISTED &&
	    (known.action == KV_ACTION_DENY ||
		(d->verdict == KV_VERDICT_LISTED &&
		    d->action != KV_ACTION_DENY));
}

/* Counts a problem with a key of which no verdict was reached. */
static void
count_unjudged(struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	r->problems++;
	r->unjudged++;
	if (r->on_unjudged != NULL) {
		r->on_unjudged(&(struct input_problem){
		    .path = key->path,
		    .line = key->line,
		    .reason = d->reason,
		});
		return;
	}
	fputs("keyveto: ", r->err);
	print_place(r->err, key->path, key->line);
	cli_print_safe(r->err, d->reason, strlen(d->reason));
	putc('\n', r->err);
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

	if (r->known != NULL)
		input_judge(r->known, key, r->now, &known);
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
	} else {
		r->clean++;
		r->usable++;
	}
	if (r->on_listed != NULL &&
	    (d->action == KV_ACTION_DENY ||
		(listed && known.verdict != KV_VERDICT_LISTED)))
		r->on_listed(r, key, d);
}

static void
print_key(struct report *r, const struct input_key *key, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	/* The judge computes no fingerprint of a clean key. */
	if (d->fingerprint[0] == '\0' && key->key.type != KV_KEY_NONE) {
		kv_fingerprint_digest(&key->key, digest);
		kv_fingerprint_format(digest, d->fingerprint);
	}
	if (r->json)
		print_key_json(r, key, d);
	else
		print_key_text(r, key, d);
}

/* Turns the decision about a key into that about a listed or allowed one. */
static void
decide_weak(const struct report *r, const struct input_key *key,
    enum weak_class class, const char *reason, struct kv_decision *d)
{
	const struct kv_config *config = &r->judge->config;
	const struct kv_allowed_key *allowed;
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
	    allowed != NULL ? allowed->reason : reason);
	if (allowed == NULL && r->on_weak != NULL)
		r->on_weak(key, class, r->on_weak_arg);
}

/*
 * Tests a key that no list has, or that could not be looked up. Returns whether
 * report_weak prints it.
 */
static bool
test_weak_key(struct report *r, const struct input_key *key,
    struct kv_decision *d)
{
	const struct weak_place place = {
		.account = r->account,
		.row = r->row != NULL ? *r->row : 0,
		.judged = d->verdict == KV_VERDICT_CLEAN,
	};
	enum weak_class class;
	bool kept;

	if (d->verdict != KV_VERDICT_CLEAN && d->verdict != KV_VERDICT_ERROR) {
		weak_note(r->weak, key, &place);
		return false;
	}
	class = weak_test(r->weak, key, &place, &kept);
	if (class != WEAK_NONE)
		decide_weak(r, key, class, "", d);
	return kept && place.judged;
}

void
report_key(struct report *r, const struct input_key *key)
{
	struct kv_decision d;
	bool wanted = r->all;

	if (r->take != NULL) {
		r->take(key, r->take_arg);
		return;
	}
	input_judge(r->judge, key, r->now, &d);
	if (r->weak != NULL && test_weak_key(r, key, &d))
		wanted = false;
	r->keys++;
	if (r->judged != NULL)
		r->judged(r, key, &d);
	if (r->by_action) {
		count_by_action(r, key, &d);
		return;
	}
	if (is_known(r, key, &d))
		return;
	r->usable += d.verdict != KV_VERDICT_LISTED &&
	    d.verdict != KV_VERDICT_ERROR && d.action != KV_ACTION_DENY;
	switch (d.verdict) {
	case KV_VERDICT_ALLOWED:
		r->allowed++;
		break;
	case KV_VERDICT_CLEAN:
		r->clean++;
		break;
	case KV_VERDICT_LISTED:
		r->listed++;
		r->refused += d.action == KV_ACTION_DENY;
		if (r->on_listed != NULL) {
			r->on_listed(r, key, &d);
			return;
		}
		wanted = true;
		break;
	case KV_VERDICT_UNSUPPORTED:
		r->unsupported++;
		wanted = true;
		break;
	case KV_VERDICT_ERROR:
		if (r->partly) {
			r->problems++;
			r->unjudged++;
			break;
		}
		wanted = true;
		count_unjudged(r, key, &d);
		if (r->on_unjudged != NULL)
			return;
		break;
	}
	if (r->quiet || !wanted)
		return;
	print_key(r, key, &d);
}

struct finding {
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
	const struct finding *finding = arg;
	struct report *r = finding->r;
	const char *account = r->account;
	struct kv_decision d;

	r->account = f->place.account;
	input_judge(r->judge, f->key, r->now, &d);
	if (f->class != WEAK_NONE) {
		decide_weak(r, f->key, f->class, f->reason, &d);
		report_move(r, f, d.verdict);
		if (finding->moved != NULL)
			finding->moved(f, d.verdict, finding->arg);
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
	struct finding f = { .r = r, .moved = moved, .arg = arg };
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	bool ok;

	if (threads == 0)
		threads = online > 0 ? (size_t)online : 1;
	if (threads > PARALLEL_THREADS_MAX)
		threads = PARALLEL_THREADS_MAX;
	weak_each_limited(r->weak, report_limit, r);
	ok = weak_finish(r->weak, threads, progress, report_found, &f);
	weak_free(r->weak);
	r->weak = NULL;
	return ok;
}

void
report_clean(struct report *r, uint64_t keys)
{
	r->keys += keys;
	r->clean += keys;
	r->usable += keys;
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
	const char *type = problem->unknown_type ? problem->type : "";
	const bool refused = problem->unknown_type && r->by_action &&
	    refuses_unknown(r);

	r->refused += refused;
	if (refused)
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
	if (r->take != NULL || r->on_unjudged != NULL)
		return;
	fputs("keyveto: ", r->err);
	print_place(r->err, problem->path, problem->line);
	cli_print_safe(r->err, problem->reason, strlen(problem->reason));
	if (problem->unknown_type) {
		putc(' ', r->err);
		cli_print_safe(r->err, type, strlen(type));
	}
	putc('\n', r->err);
	if (!r->json || r->quiet)
		return;
	print_json(r,
	    json_pack("{so sI ss so sn sn sn sn sn s[] s[] sn s[] so}", "file",
		json_text(problem->path), "line", (json_int_t)problem->line,
		"verdict",
		kv_verdict_name(problem->unknown_type ? KV_VERDICT_UNSUPPORTED :
							KV_VERDICT_ERROR),
		"type", *type != '\0' ? json_text(type) : json_null(), "bits",
		"fingerprint", "spki_sha256", "part", "comment", "filters",
		"lists", "source", "sources", "reason",
		json_text(problem->reason)));
}

void
report_note(const struct report *r, const struct input_problem *note)
{
	if (r->quiet)
		return;
	fputs("keyveto: ", r->err);
	print_place(r->err, note->path, note->line);
	fprintf(r->err, "%s\n", note->reason);
}

void
report_add(struct report *r, const struct report *other)
{
	r->files += other->files;
	r->keys += other->keys;
	r->listed += other->listed;
	r->refused += other->refused;
	r->allowed += other->allowed;
	r->clean += other->clean;
	r->unsupported += other->unsupported;
	r->problems += other->problems;
	r->unjudged += other->unjudged;
	r->usable += other->usable;
}

void
report_summary(const struct report *r)
{
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
