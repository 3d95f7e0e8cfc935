/* SPDX-License-Identifier: ISC */
#include "reading/judging.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"
#include "kv_spki.h"
#include "reading/keys.h"

/* How long one key may take: a few reads of a file. The same of opening all. */
#define KEY_SECONDS 60
/* More than any configuration may have. */
#define PIPE_MAX_BYTES (16 * 1024 * 1024)

/* The names of a list's sources, which came with verdicts. */
struct names {
	char name[UINT8_MAX + 1][KV_SOURCE_NAME_BYTES];
};

/* What opening a file gave. */
struct opened {
	char *path, *why;
	enum kv_err err;
	int fd; /* -1 if it was not opened */
};

struct judging_reader {
	const char *config; /* its path; NULL: none is opened */
	/* The configuration, the filters, the lists and their sources. */
	struct opened
	    file[1 + KV_CONFIG_MAX_FILTERS + 2 * KV_CONFIG_MAX_BLOCKLISTS];
	size_t n_files;
	int error; /* an errno: not all is noted; 0 if it is */
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

/*
 * A pipe, such as a shell's <(...), can be read only once, but this process and
 * the reader both read the configuration: fd becomes a copy in memory.
 */
static bool
copy_pipe(int fd)
{
	char buf[4096];
	struct stat st;
	ssize_t n;
	size_t total = 0;
	int copy;
	bool ok;

	if (fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode))
		return true;
	if ((copy = memory_file("keyveto")) == -1)
		return false;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		total += (size_t)n;
		errno = EFBIG;
		if (total > PIPE_MAX_BYTES || !io_write(copy, buf, (size_t)n))
			break;
	}
	ok = n == 0 && lseek(copy, 0, SEEK_SET) == 0 &&
	    dup3(copy, fd, O_CLOEXEC) != -1;
	close(copy);
	return ok;
}

/* Notes what opening a file gave. */
static void
note_file(struct judging_reader *r, const char *path, enum kv_err err, int fd,
    const char *why)
{
	struct opened *f = &r->file[r->n_files];
	/* It is opened first. A filter or a list cannot be a pipe. */
	const bool is_config = r->n_files == 0 && r->config != NULL;

	errno = E2BIG;
	if (r->n_files == sizeof(r->file) / sizeof(r->file[0]) ||
	    (err == KV_OK && is_config && !copy_pipe(fd))) {
		r->error = errno;
		return;
	}
	*f = (struct opened){
		.path = strdup(path),
		.why = strdup(why),
		.err = err,
		.fd = err == KV_OK ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1,
	};
	r->n_files++;
	if (f->path == NULL || f->why == NULL || (err == KV_OK && f->fd == -1))
		r->error = errno;
}

/* Is a kv_open_fn; arg is a struct judging_reader. Notes what it opens. */
static enum kv_err
open_noted(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	struct judging_reader *r = arg;
	const enum kv_err err = r->open(path, fdp, why, r->arg);

	note_file(r, path, err, *fdp, err != KV_OK ? why : "");
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
	return judging_find_file(&r->judging->judge, path);
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
	if (r == NULL) {
		snprintf(j->judge.broken, sizeof(j->judge.broken),
		    "out of memory");
		return;
	}
	r->judging = j;
	r->config = config;
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

const char *
judging_find_unopened(const struct kv_judge *judge)
{
	for (size_t i = 0; i < judge->n_filters; i++)
		if (judge->filter[i].pkbf.fd == -1)
			return judge->filter[i].why;
	for (size_t i = 0; i < judge->n_lists; i++)
		if (judge->list[i].blocklist.fd == -1)
			return judge->list[i].why;
	return NULL;
}

int
judging_find_file(const struct kv_judge *judge, const char *path)
{
	const struct judging_reader *r = find_reader(judge);

	for (size_t i = 0; i < r->n_files; i++)
		if (strcmp(r->file[i].path, path) == 0)
			return r->file[i].fd;
	return -1;
}

static void
send_path(struct talk *t, enum reading_order tag, const char *path)
{
	talk_begin(t, tag, strlen(path), -1);
	record_add_text(&t->packet, path);
	record_end(&t->packet);
}

static void
send_setup(const struct judging_reader *r, unsigned int flags, uint64_t total,
    struct talk *t)
{
	talk_begin(t, READING_SETUP, PATH_MAX, -1);
	record_add(&t->packet, R_VALUE(READING_VERSION), R_VALUE(flags),
	    R_VALUE(total), R_STRING(r->config != NULL ? r->config : ""));
	record_end(&t->packet);
	for (size_t i = 0; r->named && i < r->paths.n_filters; i++)
		send_path(t, READING_FILTER, r->paths.filter[i]);
	for (size_t i = 0; r->named && i < r->paths.n_blocklists; i++)
		send_path(t, READING_BLOCKLIST, r->paths.blocklist[i]);
}

static void
send_file(const struct opened *f, struct talk *t)
{
	const bool is_open = f->fd != -1;
	/* Another reader may get it, too. */
	int fd = is_open ? fcntl(f->fd, F_DUPFD_CLOEXEC, 3) : -1;
	bool lost = is_open && fd == -1;
	const char *why;

	if (lost) {
		/* Perhaps too many files are open. */
		talk_flush(t);
		fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
		lost = fd == -1;
	}
	why = lost ? strerror(errno) : f->why;
	talk_begin(t, READING_OPENED, strlen(f->path) + strlen(why), fd);
	record_add(&t->packet, R_STRING(f->path),
	    R_VALUE(lost ? KV_ERR_SYSTEM : f->err), R_STRING(why));
	record_end(&t->packet);
}

/* Sends READING_SETUP, the files, and READING_JUDGE. */
static void
send_files(const struct judging_reader *r, unsigned int flags, uint64_t total,
    struct talk *t)
{
	send_setup(r, flags, total, t);
	for (size_t i = 0; i < r->n_files; i++)
		send_file(&r->file[i], t);
	talk_begin(t, READING_JUDGE, 0, -1);
	record_end(&t->packet);
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
start_reader(struct judging_reader *r, unsigned int flags, uint64_t total,
    bool quiet, char why[static WALL_WHY_BYTES])
{
	*why = '\0';
	r->started = r->answered = true;
	r->talk = (struct talk){
		.answer = receive_answer,
		.quiet = quiet,
		.arg = r,
	};
	if (r->error != 0)
		snprintf(r->talk.why, sizeof(r->talk.why),
		    "its files cannot be handed over: %s", strerror(r->error));
	else {
		talk_start(&r->talk);
		send_files(r, flags, total, &r->talk);
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
	return start_reader(r, READING_ASKED, 0, true, why);
}

struct talk *
judging_start_report(struct judging *j, unsigned int flags, uint64_t total,
    bool quiet, char why[static WALL_WHY_BYTES])
{
	struct judging_reader *r = j->reader;

	snprintf(why, WALL_WHY_BYTES, "%s", strerror(ENOMEM));
	return r != NULL && start_reader(r, flags, total, quiet, why) ?
	    &r->talk :
	    NULL;
}

void
judging_hand_over(const struct kv_judge *judge, struct talk *t)
{
	send_files(find_reader(judge), READING_KEYS | READING_JUDGED, 0, t);
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
	for (size_t i = 0; r != NULL && i < r->n_files; i++) {
		free(r->file[i].path);
		free(r->file[i].why);
		io_close(r->file[i].fd);
	}
	if (r != NULL)
		free(r->names);
	free(r);
	*j = (struct judging){ .reader = NULL };
	return *why == '\0';
}
