/* SPDX-License-Identifier: ISC */
#include "reading/judging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "kv_spki.h"
#include "reading/keys.h"

/* How long one key may take: a few reads of a file. The same of opening all. */
#define KEY_SECONDS 60

/* The names of a list's sources, which came with verdicts. */
struct names {
	char name[UINT8_MAX + 1][KV_SOURCE_NAME_BYTES];
};

struct judging_reader {
	struct opened_files *files;
	kv_open_fn open;
	void *arg; /* of open */
	/* Whoever opened the judge named them; else the configuration did. */
	bool named;
	struct kv_paths paths;
	struct names **names; /* of each list; NULL while none came */
	struct talk talk;
	bool started, has_facts;
	struct judging *judging;
	/* Of the key that it was asked for last. */
	const struct input_key *key;
	struct kv_decision *d;
	bool answered;
};

static struct judging_reader *
find_reader(const struct kv_judge *judge)
{
	return ((const struct judging *)judge)->reader;
}

/* --- the files ------------------------------------------------------------ */

/* Is a kv_open_fn; arg is a struct judging_reader. Notes what it opens. */
static enum kv_err
open_noted(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	struct judging_reader *r = arg;
	const enum kv_err err = r->open(path, fdp, why, r->arg);

	opened_files_add(r->files, path, err, *fdp, err != KV_OK ? why : "");
	return err;
}

/*
 * Opens a file for the reader alone, and returns its descriptor among the files;
 * -1 with why if it cannot be opened.
 */
static int
open_for_reader(struct judging_reader *r, const char *path,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	int fd;

	if (open_noted(path, &fd, why, r) != KV_OK)
		return -1;
	close(fd);
	return opened_files_find(r->files, path);
}

static void
open_filter(struct judging_reader *r, struct kv_filter *f, const char *path)
{
	f->path = path;
	f->pkbf.fd = open_for_reader(r, path, f->why);
}

/* The reader opens the names of its sources only if the list is one. */
static void
open_list(struct judging_reader *r, struct kv_list *l, const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES], *sources = NULL;

	l->path = path;
	l->sources = -1;
	l->blocklist.fd = open_for_reader(r, path, l->why);
	if (l->blocklist.fd != -1 &&
	    asprintf(&sources, "%s" KV_SOURCES_SUFFIX, path) != -1)
		(void)open_for_reader(r, sources, why);
	free(sources);
}

/* Without memory, nothing has a verdict. */
static void
open_files(struct judging *j)
{
	struct judging_reader *r = j->reader;
	struct kv_judge *judge = &j->judge;

	free(judge->filter);
	free(judge->list);
	judge->filter = calloc(r->paths.n_filters + 1, sizeof(*judge->filter));
	judge->list = calloc(r->paths.n_blocklists + 1, sizeof(*judge->list));
	j->date = calloc(r->paths.n_blocklists + 1, sizeof(*j->date));
	r->names = calloc(r->paths.n_blocklists + 1, sizeof(struct names *));
	if (judge->filter == NULL || judge->list == NULL || j->date == NULL ||
	    r->names == NULL) {
		snprintf(judge->broken, sizeof(judge->broken), "out of memory");
		return;
	}
	/* An own list may come to as many as there may be. */
	if (r->paths.n_filters > KV_CONFIG_MAX_FILTERS ||
	    r->paths.n_blocklists > KV_CONFIG_MAX_BLOCKLISTS) {
		snprintf(judge->broken, sizeof(judge->broken),
		    "too many filters or lists");
		return;
	}
	for (; judge->n_filters < r->paths.n_filters; judge->n_filters++)
		open_filter(r, &judge->filter[judge->n_filters],
		    r->paths.filter[judge->n_filters]);
	for (; judge->n_lists < r->paths.n_blocklists; judge->n_lists++)
		open_list(r, &judge->list[judge->n_lists],
		    r->paths.blocklist[judge->n_lists]);
}

void
judging_open(struct judging *j, const char *config,
    const struct kv_paths *paths, kv_open_fn open, void *arg)
{
	const struct kv_paths none = { .n_filters = 0 };
	struct judging_reader *r = calloc(1, sizeof(*r));

	*j = (struct judging){ .reader = r };
	if (r == NULL || (r->files = opened_files_new(config)) == NULL) {
		snprintf(j->judge.broken, sizeof(j->judge.broken),
		    "out of memory");
		return;
	}
	r->judging = j;
	r->open = open;
	r->arg = arg;
	r->named = paths != NULL;
	kv_judge_open_with(&j->judge, config, &none, open_noted, r);
	if (paths != NULL)
		r->paths = *paths;
	if (j->judge.broken[0] != '\0')
		return;
	if (!r->named)
		r->paths = (struct kv_paths){
			.filter = j->judge.config.filter,
			.n_filters = j->judge.config.n_filters,
			.blocklist = j->judge.config.blocklist,
			.n_blocklists = j->judge.config.n_blocklists,
		};
	open_files(j);
}

enum kv_err
judging_reopen(int fd, const char *path, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	/* Who reads it shall not write what takes effect. That needs /proc. */
	if ((*fdp = io_reopen(fd)) == -1)
		*fdp = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (*fdp != -1 && lseek(*fdp, 0, SEEK_SET) == 0)
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.400s: %s", path,
	    strerror(errno));
	io_close(*fdp);
	*fdp = -1;
	return KV_ERR_SYSTEM;
}

int
judging_find_file(const struct kv_judge *judge, const char *path)
{
	return opened_files_find(find_reader(judge)->files, path);
}

/* --- verdicts ------------------------------------------------------------- */

static size_t
find_lowest(uint64_t bits)
{
	size_t i = 0;

	while ((bits >> i & 1) == 0)
		i++;
	return i;
}

/* Sets what the decision says of the key itself, as lib/kv_verdict does. */
static void
name_key(const struct kv_pubkey *key, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	if (key->type == KV_KEY_NONE)
		return;
	snprintf(d->key_type, sizeof(d->key_type), "%s",
	    kv_keytype_name(key->type));
	if (d->verdict == KV_VERDICT_CLEAN)
		return;
	kv_fingerprint_digest(key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
}

/* Without memory, a source has its number for a name. */
static void
keep_names(struct judging_reader *r, const struct finding *f)
{
	for (size_t i = 0; i < r->paths.n_blocklists; i++) {
		if ((f->lists >> i & 1) == 0)
			continue;
		if (r->names[i] == NULL)
			r->names[i] = calloc(1, sizeof(*r->names[i]));
		if (r->names[i] != NULL)
			memcpy(r->names[i]->name[f->source_id[i]],
			    f->sources[i], KV_SOURCE_NAME_BYTES);
	}
}

void
judging_name_source(const struct kv_judge *judge, size_t list, uint8_t id,
    char name[static KV_SOURCE_NAME_BYTES])
{
	const struct names *names = find_reader(judge)->names[list];

	kv_sources_name(-1, id, name);
	if (names != NULL && names->name[id][0] != '\0')
		memcpy(name, names->name[id], KV_SOURCE_NAME_BYTES);
}

void
judging_decide(const struct kv_judge *judge, const struct finding *f,
    const struct kv_pubkey *key, struct kv_decision *d)
{
	*d = (struct kv_decision){
		.verdict = f->verdict,
		.action = f->action,
		.hits = f->filters,
		.list_hits = f->lists,
		.list = finding_list(f),
	};
	if (f->filters != 0)
		d->filter = &judge->filter[find_lowest(f->filters)];
	if (d->list == NULL && f->lists != 0)
		d->list = &judge->list[find_lowest(f->lists)];
	memcpy(d->source, f->source, sizeof(d->source));
	memcpy(d->source_id, f->source_id, sizeof(d->source_id));
	snprintf(d->reason, sizeof(d->reason), "%.*s", (int)f->reason.len,
	    f->reason.len > 0 ? (const char *)f->reason.p : "");
	keep_names(find_reader(judge), f);
	name_key(key, d);
}

/* --- the conversation ----------------------------------------------------- */

static bool
receive_verdict(struct judging_reader *r, struct kv_bytes b)
{
	const struct kv_judge *judge = &r->judging->judge;
	struct finding f = { 0 };

	if (!finding_get_verdict(&b, judge->n_filters, judge->n_lists, &f) ||
	    b.left != 0)
		return false;
	judging_decide(judge, &f, &r->key->key, r->d);
	r->answered = true;
	return true;
}

/* Is talk's answer. */
static bool
receive_answer(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	struct judging_reader *r = t->arg;

	/* They come once, and before all else. */
	if (!r->has_facts) {
		r->has_facts = true;
		return tag == READING_FACTS &&
		    facts_receive(b, &r->judging->judge, r->judging->date);
	}
	if (tag == READING_KEYS_END) {
		t->ended = true;
		return b.left == 0;
	}
	return tag == READING_VERDICT && !r->answered && receive_verdict(r, b);
}

/* Starts a reader with the files, which says what they are. */
static bool
start_reader(struct judging_reader *r, const struct opened_setup *setup,
    bool quiet, char why[static WALL_WHY_BYTES])
{
	const int error = opened_files_error(r->files);

	*why = '\0';
	r->started = r->answered = true;
	r->talk = (struct talk){
		.answer = receive_answer,
		.quiet = quiet,
		.arg = r,
	};
	if (error != 0)
		snprintf(r->talk.why, sizeof(r->talk.why),
		    "its files cannot be handed over: %s", strerror(error));
	else {
		talk_start(&r->talk);
		opened_files_send(r->files, setup, &r->talk);
		(void)talk_wait_until(&r->talk, &r->has_facts,
		    io_deadline(KEY_SECONDS));
	}
	snprintf(why, WALL_WHY_BYTES, "%s", r->talk.why);
	return *why == '\0';
}

bool
judging_start(struct judging *j, char why[static WALL_WHY_BYTES])
{
	struct judging_reader *r = j->reader;

	*why = '\0';
	if (r == NULL || j->judge.broken[0] != '\0' ||
	    j->judge.n_filters + j->judge.n_lists == 0)
		return true;
	return start_reader(r,
	    &(struct opened_setup){
		.threads = 1,
		.flags = READING_ASKED,
		.paths = r->named ? &r->paths : NULL,
	    },
	    true, why);
}

struct talk *
judging_start_report(struct judging *j, size_t threads, unsigned int flags,
    uint64_t total, bool quiet, char why[static WALL_WHY_BYTES])
{
	struct judging_reader *r = j->reader;

	snprintf(why, WALL_WHY_BYTES, "%s", strerror(ENOMEM));
	return r != NULL &&
		start_reader(r,
		    &(struct opened_setup){
			.threads = threads,
			.flags = flags,
			.total = total,
			.paths = r->named ? &r->paths : NULL,
		    },
		    quiet, why) ?
	    &r->talk :
	    NULL;
}

void
judging_hand_over(const struct kv_judge *judge, struct talk *t)
{
	const struct judging_reader *r = find_reader(judge);

	opened_files_send(r->files,
	    &(struct opened_setup){
		.threads = 1,
		.flags = READING_KEYS | READING_JUDGED,
		.paths = r->named ? &r->paths : NULL,
	    },
	    t);
}

bool
judging_receive_facts(const struct kv_judge *judge, struct kv_bytes b)
{
	struct judging_reader *r = find_reader(judge);

	return r->started ||
	    facts_receive(b, &r->judging->judge, r->judging->date);
}

static void
send_key(struct talk *t, const struct input_key *key, int64_t now)
{
	/* Where it is, and who wrote what beside it, is not asked. */
	const struct input_key bare = {
		.path = "",
		.part = key->part,
		.key = key->key,
		.spki = key->spki,
		.hash = key->hash,
		.type = key->type,
		.bits = key->bits,
	};

	talk_begin(t, READING_JUDGE_KEY, KV_SPKI_MAX_BYTES, -1);
	record_add_number(&t->packet, (uint64_t)now);
	reading_add_key(&t->packet, &bare);
	record_end(&t->packet);
}

void
judging_key(const struct kv_judge *judge, const struct input_key *key,
    int64_t now, struct kv_decision *d)
{
	struct judging_reader *r = find_reader(judge);
	char why[WALL_WHY_BYTES];

	if (r != NULL && !r->started)
		(void)judging_start(r->judging, why);
	/* No file is looked into then. */
	if (r == NULL || !r->started) {
		input_judge(judge, key, now, d);
		return;
	}
	r->key = key;
	r->d = d;
	r->answered = false;
	send_key(&r->talk, key, now);
	if (talk_wait_until(&r->talk, &r->answered, io_deadline(KEY_SECONDS)))
		return;
	*d = (struct kv_decision){
		.verdict = KV_VERDICT_ERROR,
		.action = judge->config.on_error,
	};
	snprintf(d->reason, sizeof(d->reason), "%s", r->talk.why);
	name_key(&key->key, d);
}

void
judging_report(struct report *r, const struct kv_judge *judge)
{
	r->judge = judge;
	r->decide = judging_key;
	r->name_source = judging_name_source;
}

bool
judging_close(struct judging *j, char why[static WALL_WHY_BYTES])
{
	struct judging_reader *r = j->reader;

	*why = '\0';
	if (r != NULL && r->started && !talk_end(&r->talk))
		snprintf(why, WALL_WHY_BYTES, "%s", r->talk.why);
	/* They are the files', which close them. */
	for (size_t i = 0; i < j->judge.n_filters; i++)
		j->judge.filter[i].pkbf.fd = -1;
	for (size_t i = 0; i < j->judge.n_lists; i++)
		j->judge.list[i].blocklist.fd = -1;
	for (size_t i = 0;
	     r != NULL && r->names != NULL && i < j->judge.n_lists; i++)
		free(r->names[i]);
	kv_judge_close(&j->judge);
	free(j->date);
	if (r != NULL) {
		opened_files_free(r->files);
		free(r->names);
	}
	free(r);
	*j = (struct judging){ .reader = NULL };
	return *why == '\0';
}
