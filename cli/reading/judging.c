/* SPDX-License-Identifier: ISC */
#include "reading/judging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_spki.h"
#include "base/io.h"
#include "reading/finding.h"
#include "reading/keys.h"
#include "reading/opened.h"

/* How long one key may take: a few reads of a file. */
#define KEY_SECONDS 60

struct judging_reader {
	struct opened_files *files;
	kv_open_fn open;
	void *arg; /* of open */
	/* Whoever opened the judge named them; else the configuration did. */
	bool named;
	struct kv_paths paths;
	struct talk talk;
	bool started, has_revisions;
	/* Of the key that it was asked for last. */
	const struct judging *judging;
	struct kv_decision *d;
	bool answered;
};

/* --- the files ------------------------------------------------------------ */

/* Is a kv_open_fn; arg is a struct judging_reader. Notes what it opens. */
static enum kv_err
open_noted(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	struct judging_reader *r = arg;
	const enum kv_err err = r->open(path, fdp, why, r->arg);

	opened_files_add(path, err, *fdp, err != KV_OK ? why : "", r->files);
	return err;
}

/* Opens a file for the reader alone. Whether it could be opened. */
static bool
open_for_reader(struct judging_reader *r, const char *path)
{
	char why[KV_TRUSTED_WHY_BYTES];
	const bool ok = path != NULL;
	int fd;

	if (!ok || open_noted(path, &fd, why, r) != KV_OK)
		return false;
	close(fd);
	return true;
}

static void
open_filter(struct judging_reader *r, struct kv_filter *f, const char *path)
{
	f->path = path;
	f->pkbf.fd = -1;
	(void)open_for_reader(r, path);
}

/* The reader opens the names of its sources only if the list is one. */
static void
open_list(struct judging_reader *r, struct kv_list *l, const char *path)
{
	char *sources = NULL;

	l->path = path;
	l->blocklist.fd = l->sources = -1;
	if (open_for_reader(r, path) &&
	    asprintf(&sources, "%s" KV_SOURCES_SUFFIX, path) != -1)
		(void)open_for_reader(r, sources);
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
	if (judge->filter == NULL || judge->list == NULL) {
		snprintf(judge->broken, sizeof(judge->broken), "out of memory");
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
	r->open = open;
	r->arg = arg;
	kv_judge_open_with(&j->judge, config, &none, open_noted, r);
	if (j->judge.broken[0] != '\0')
		return;
	r->named = paths != NULL;
	r->paths = r->named ?
	    *paths :
	    (struct kv_paths){
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

/* --- the conversation ----------------------------------------------------- */

/* The log names the revision of a filter. */
static bool
receive_revisions(struct judging_reader *r, struct kv_bytes b)
{
	const struct kv_judge *judge = &r->judging->judge;
	uint64_t revision;

	for (size_t i = 0; i < judge->n_filters; i++) {
		if (!record_get_limited(&b, UINT32_MAX, &revision))
			return false;
		judge->filter[i].pkbf.header.revision = (uint32_t)revision;
	}
	return b.left == 0;
}

static size_t
find_lowest(uint64_t bits)
{
	size_t i = 0;

	while ((bits >> i & 1) == 0)
		i++;
	return i;
}

/* Sets r->d to what the reader says of the key. */
static bool
receive_verdict(struct judging_reader *r, struct kv_bytes b)
{
	const struct kv_judge *judge = &r->judging->judge;
	struct kv_decision *d = r->d;
	struct finding f;

	if (!finding_receive(b, judge->n_filters, judge->n_lists, &f) ||
	    (f.verdict == KV_VERDICT_LISTED && f.filters == 0 && f.lists == 0 &&
		finding_list(&f) == NULL))
		return false;
	d->verdict = f.verdict;
	d->action = f.action;
	d->hits = f.filters;
	d->list_hits = f.lists;
	if (f.filters != 0)
		d->filter = &judge->filter[find_lowest(f.filters)];
	d->list = finding_list(&f);
	if (d->list == NULL && f.lists != 0)
		d->list = &judge->list[find_lowest(f.lists)];
	memcpy(d->source, f.source, sizeof(d->source));
	snprintf(d->reason, sizeof(d->reason), "%.*s", (int)f.reason.len,
	    f.reason.len > 0 ? (const char *)f.reason.p : "");
	r->answered = true;
	return true;
}

/* Is talk's answer. */
static bool
receive_answer(struct talk *t, uint8_t tag, struct kv_bytes b)
{
	struct judging_reader *r = t->arg;

	if (tag == READING_KEYS_END) {
		t->ended = true;
		return b.left == 0;
	}
	/* They come once, and before all else. */
	if (!r->has_revisions) {
		r->has_revisions = true;
		return tag == READING_REVISIONS && receive_revisions(r, b);
	}
	return tag == READING_FOUND && !r->answered && receive_verdict(r, b);
}

static void
start_reader(struct judging_reader *r)
{
	const int error = opened_files_error(r->files);

	r->started = true;
	r->talk = (struct talk){
		.answer = receive_answer,
		.quiet = true,
		.arg = r,
	};
	if (error != 0) {
		snprintf(r->talk.why, sizeof(r->talk.why),
		    "its files cannot be handed over: %s", strerror(error));
		return;
	}
	talk_start(&r->talk);
	opened_files_send(r->files,
	    &(struct opened_setup){
		.threads = 1,
		.flags = READING_ASKED,
		.paths = r->named ? &r->paths : NULL,
	    },
	    &r->talk);
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

/* Sets what the decision says of the key itself, as lib/kv_verdict does. */
static void
name_key(const struct input_key *key, struct kv_decision *d)
{
	uint8_t digest[KV_SHA256_BYTES];

	if (key->key.type == KV_KEY_NONE)
		return;
	snprintf(d->key_type, sizeof(d->key_type), "%s",
	    kv_keytype_name(key->key.type));
	if (d->verdict == KV_VERDICT_CLEAN)
		return;
	kv_fingerprint_digest(&key->key, digest);
	kv_fingerprint_format(digest, d->fingerprint);
}

void
judging_key(const struct kv_judge *judge, const struct input_key *key,
    int64_t now, struct kv_decision *d)
{
	const struct judging *j = (const struct judging *)judge;
	struct judging_reader *r = j->reader;

	/* No file is looked into then. */
	if (judge->broken[0] != '\0') {
		input_judge(judge, key, now, d);
		return;
	}
	*d = (struct kv_decision){ .verdict = KV_VERDICT_ERROR };
	r->judging = j;
	r->d = d;
	r->answered = false;
	if (!r->started)
		start_reader(r);
	send_key(&r->talk, key, now);
	if (!talk_wait_until(&r->talk, &r->answered,
		io_deadline(KEY_SECONDS))) {
		*d = (struct kv_decision){ .action = judge->config.on_error };
		snprintf(d->reason, sizeof(d->reason), "%s", r->talk.why);
	}
	name_key(key, d);
}

bool
judging_close(struct judging *j, char why[static WALL_WHY_BYTES])
{
	struct judging_reader *r = j->reader;

	*why = '\0';
	if (r != NULL && r->started && !talk_end(&r->talk))
		snprintf(why, WALL_WHY_BYTES, "%s", r->talk.why);
	kv_judge_close(&j->judge);
	if (r != NULL)
		opened_files_free(r->files);
	free(r);
	*j = (struct judging){ .reader = NULL };
	return *why == '\0';
}
