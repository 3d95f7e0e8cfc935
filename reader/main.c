/* SPDX-License-Identifier: ISC */
/*
 * keyveto-reader: reads what others wrote, for the keyveto command, which
 * starts it. It is handed open files, and answers with what it found
 * (wire/reading.h). Before it reads the first of them, it gives up all else
 * (wall/wall.h).
 */
#include <sys/mman.h>

#include <openssl/crypto.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "command.h"
#include "handed.h"
#include "keys/unpack.h"
#include "account_lines.h"
#include "log_file.h"
#include "reading/facts.h"
#include "reading/keys.h"
#include "reading/report.h"
#include "wall/enter.h"

/* Memory for the process, which may unpack a file. */
#define MEMORY_BYTES \
	((uint64_t)792 * 1024 * 1024 + UNPACK_PACKED_MAX * UNPACK_XZ_BYTES)

static struct record_out out = { .fd = STDOUT_FILENO };

static void
send_found(const struct report *r, const struct finding *f)
{
	finding_send(r->records, READING_FOUND, f);
}

static void
send_problem(const struct report *r, const struct input_problem *problem)
{
	finding_send_problem(r->records, READING_FOUND_PROBLEM, problem);
}

static void
send_note(const struct report *r, const struct input_problem *note)
{
	finding_send_problem(r->records, READING_NOTE, note);
}

/* Is told at most ten times a second, by one thread at a time. */
static void
send_progress(const char *what, bool things, uint64_t done, uint64_t total)
{
	record_send(&out, READING_PROGRESS, R_STRING(what), R_FLAG(things),
	    R_ANY(done), R_ANY(total));
	record_flush(&out);
}

static void
send_hello(unsigned int walls)
{
	record_send(&out, READING_HELLO, R_VALUE(READING_VERSION),
	    R_VALUE(walls));
	record_flush(&out);
}

static void
send_totals(const struct report *r, bool all_tested)
{
	record_send(&out, READING_TOTALS, REPORT_TOTALS(r), R_FLAG(all_tested));
	record_flush(&out);
}

/* Takes READING_FILE. The path is valid until the next call. */
static bool
get_file(struct orders *o, struct kv_bytes b, struct input_file *file)
{
	static char path[READING_PACKET_BYTES];

	*file = (struct input_file){ .path = path };
	return record_get(&b, R_TEXT(path), R_FLAG(file->walked),
		   R_FLAG(file->regular), R_FLAG(file->fifo),
		   R_ANY(file->size)) &&
	    (file->fd = orders_next_descriptor(o)) != -1;
}

/* Takes READING_PROBLEM. The same. */
static bool
get_problem(struct kv_bytes b, struct input_problem *problem)
{
	static char path[READING_PACKET_BYTES];
	static char reason[1024];

	*problem = (struct input_problem){ .path = path, .reason = reason };
	return record_get(&b, R_TEXT(path), R_TEXT(reason));
}

static off_t
filter_bytes(const struct kv_pkbf *f)
{
	/* One that could not be opened has no header. */
	return f->fd == -1 ? 0 : kv_pkbf_file_bytes(f->header.length);
}

static off_t
list_bytes(const struct kv_blocklist *l)
{
	return (off_t)(l->records * KV_BLOCKLIST_RECORD_BYTES);
}

static const uint8_t *
map_file(int fd, off_t bytes)
{
	void *p;

	/* With 32 bits there is no room for the largest. */
	if (fd == -1 || bytes != (off_t)(size_t)bytes)
		return NULL;
	p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
	return p != MAP_FAILED ? p : NULL;
}

/*
 * Maps the judge's filters and lists into memory, to the process's end, so that
 * a look-up makes no system call. A file that cannot be mapped is read.
 *
 * If another program cuts a file short meanwhile, a look-up behind its new end
 * ends the process (SIGBUS), and the front says so.
 */
static void
map_files(struct kv_judge *j)
{
	for (size_t i = 0; i < j->n_filters; i++)
		j->filter[i].pkbf.map = map_file(j->filter[i].pkbf.fd,
		    filter_bytes(&j->filter[i].pkbf));
	for (size_t i = 0; i < j->n_lists; i++)
		j->list[i].blocklist.map = map_file(j->list[i].blocklist.fd,
		    list_bytes(&j->list[i].blocklist));
}

/*
 * By lseek(2), which a process behind a wall may call, where fstat(2) of some
 * systems takes a path. Nothing else reads at the offset of the descriptor.
 */
static bool
is_cut(const uint8_t *map, int fd, off_t bytes)
{
	return map != NULL && lseek(fd, 0, SEEK_END) != bytes;
}

/*
 * The path of a mapped file that is not as long any more as it was: bits read as
 * zeros in its last page. NULL: all are.
 */
static const char *
find_cut(const struct kv_judge *j)
{
	for (size_t i = 0; i < j->n_filters; i++) {
		const struct kv_pkbf *f = &j->filter[i].pkbf;

		if (is_cut(f->map, f->fd, filter_bytes(f)))
			return j->filter[i].path;
	}
	for (size_t i = 0; i < j->n_lists; i++) {
		const struct kv_blocklist *l = &j->list[i].blocklist;

		if (is_cut(l->map, l->fd, list_bytes(l)))
			return j->list[i].path;
	}
	return NULL;
}

/* What read_report reads for. */
struct reported {
	struct report *report;
	const struct kv_judge *judge;
	struct progress *progress;
};

static void
count_key(const struct input_key *key, void *arg)
{
	const struct reported *to = arg;

	report_key(to->report, key);
}

static void
count_problem(const struct input_problem *problem, void *arg)
{
	const struct reported *to = arg;

	report_problem(to->report, problem);
}

static void
count_file(const char *path, void *arg)
{
	const struct reported *to = arg;

	(void)path;
	to->report->files++;
}

/* What was found by a file that was cut short is not sent. */
static void
refuse_cut(const struct kv_judge *judge)
{
	const struct input_problem cut = {
		.path = find_cut(judge),
		.reason = "was cut short while keys were looked up in it",
	};

	if (cut.path == NULL)
		return;
	record_clear(&out);
	finding_send_problem(&out, READING_FOUND_PROBLEM, &cut);
	record_flush(&out);
	exit(CLI_UNCHECKED);
}

static void
count_bytes(uint64_t bytes, void *arg)
{
	const struct reported *to = arg;

	refuse_cut(to->judge);
	if (bytes > 0) {
		progress_add(to->progress, bytes);
		record_flush(&out);
	} else {
		record_send_last(&out, READING_WAITING);
	}
}

static bool
obey_order(struct orders *o, uint8_t tag, struct kv_bytes b,
    const struct input_sink *sink)
{
	struct input_file file;
	struct input_problem problem;

	if (tag == READING_FILE && get_file(o, b, &file)) {
		input_read_file(&file, sink);
		close(file.fd);
		return true;
	}
	if (tag != READING_PROBLEM || !get_problem(b, &problem))
		return false;
	sink->problem(&problem, sink->arg);
	return true;
}

/* Reads all files. False if an order is not as the front sends them. */
static bool
read_files(struct orders *o, struct report *r, struct progress *progress)
{
	struct reported to = { r, r->judge, progress };
	struct input_room room = { 0 };
	const struct input_sink sink = {
		.key = count_key,
		.problem = count_problem,
		.file = count_file,
		.progress = count_bytes,
		.arg = &to,
		.room = &room,
	};
	struct kv_bytes b;
	uint8_t tag;
	bool ok = true;

	while (ok && (ok = orders_next(o, &tag, &b)) && tag != READING_END)
		ok = obey_order(o, tag, b, &sink);
	input_room_free(&room);
	return ok;
}

/* A run with --weak keeps each modulus: it may have most of the memory. */
static uint64_t
find_memory(const struct setup *setup)
{
	const long pages = sysconf(_SC_PHYS_PAGES);
	const uint64_t half = pages > 0 ?
	    (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2 :
	    0;

	return (setup->flags & READING_WEAK) != 0 && half > MEMORY_BYTES ?
	    half :
	    MEMORY_BYTES;
}

static void
send_key(const struct input_key *key, void *arg)
{
	(void)arg;
	reading_send_key(&out, key);
}

static void
send_key_problem(const struct input_problem *problem, void *arg)
{
	(void)arg;
	finding_send_problem(&out, READING_FOUND_PROBLEM, problem);
}

static void
send_key_file(const char *path, void *arg)
{
	(void)arg;
	record_send(&out, READING_OPENED_FILE, R_STRING(path));
}

static void
send_key_progress(uint64_t bytes, void *arg)
{
	(void)arg;
	record_send_last(&out, bytes == 0 ? READING_WAITING : READING_READ);
}

/* judge is of the keys of lines; NULL: these are not judged. */
static bool
obey_key_order(struct orders *o, uint8_t tag, struct kv_bytes b,
    const struct input_sink *sink, const struct kv_judge *judge)
{
	int64_t used;
	bool ok;
	int fd;

	if (tag == READING_LINES && record_get(&b, R_NUMBER(used, INT64_MAX)) &&
	    (fd = orders_next_descriptor(o)) != -1) {
		account_lines_read(&out, fd, judge, used);
		close(fd);
		return true;
	}
	if (tag == READING_LOG && (fd = orders_next_descriptor(o)) != -1) {
		ok = log_file_read(&out, b, fd);
		close(fd);
		return ok;
	}
	return obey_order(o, tag, b, sink);
}

/* Sends the keys of all files, for a front that does more than judge them. */
static int
read_keys(struct orders *o, const struct setup *setup,
    const struct kv_judge *judge)
{
	struct input_room room = { 0 };
	const struct input_sink sink = {
		.key = send_key,
		.problem = send_key_problem,
		.file = send_key_file,
		.progress = send_key_progress,
		.room = &room,
		.plain = (setup->flags & READING_PLAIN) != 0,
		.wary = (setup->flags & READING_WARY) != 0,
	};
	struct kv_bytes b;
	uint8_t tag;

	for (;;) {
		if (!orders_next(o, &tag, &b))
			return CLI_UNCHECKED;
		if (tag == READING_END)
			break;
		if (!obey_key_order(o, tag, b, &sink, judge))
			return CLI_UNCHECKED;
	}
	input_room_free(&room);
	record_send_last(&out, READING_KEYS_END);
	return 0;
}

/* What the front asks of a key. */
struct question {
	const struct kv_judge *judge;
	int64_t now; /* seconds since 1970, when the key is used */
};

static void
answer_key(const struct input_key *key, void *arg)
{
	const struct question *q = arg;
	struct kv_decision d;
	struct finding f;

	input_judge(q->judge, key, q->now, &d);
	finding_describe(&f, q->judge, finding_name_source, key, &d, false);
	record_begin(&out, READING_VERDICT);
	finding_add_verdict(&out, &f);
	record_end(&out);
	record_flush(&out);
}

/* Sends what the judge says of each key that the front has. */
static int
judge_keys(struct orders *o, struct kv_judge *judge)
{
	struct question q = { .judge = judge };
	const struct input_sink sink = { .key = answer_key, .arg = &q };
	struct kv_bytes b;
	uint8_t tag;

	while (orders_next(o, &tag, &b)) {
		if (tag == READING_END) {
			record_send_last(&out, READING_KEYS_END);
			return 0;
		}
		if (tag != READING_JUDGE_KEY ||
		    !record_get(&b, R_NUMBER(q.now, INT64_MAX)) ||
		    !reading_receive_key(b, &sink))
			break;
	}
	return CLI_UNCHECKED;
}

/* Whether a key that no file of the judge lists is clean. */
static bool
has_all(const struct kv_judge *judge)
{
	for (size_t i = 0; i < judge->n_filters; i++)
		if (judge->filter[i].pkbf.fd == -1)
			return false;
	for (size_t i = 0; i < judge->n_lists; i++)
		if (judge->list[i].blocklist.fd == -1)
			return false;
	return judge->broken[0] == '\0';
}

/* Sends what the judge says of the keys of all files. */
static int
read_report(struct orders *o, const struct setup *setup, struct kv_judge *judge)
{
	struct progress progress;
	struct report r;
	bool all_tested = true;

	report_init(&r, judge,
	    &(struct report_options){
		.json = (setup->flags & READING_JSON) != 0,
		.all = (setup->flags & READING_ALL) != 0,
		.quiet = (setup->flags & READING_QUIET) != 0,
	    });
	r.partly = !has_all(judge);
	r.found = send_found;
	r.found_problem = send_problem;
	r.found_note = send_note;
	r.records = &out;
	if ((setup->flags & READING_WEAK) != 0 &&
	    (r.weak = weak_new(weak_tests_run)) == NULL)
		return CLI_UNCHECKED;
	progress_tell(send_progress);
	progress_start(&progress, "checking", setup->total);
	map_files(judge);
	if (!read_files(o, &r, &progress))
		return CLI_UNCHECKED;
	refuse_cut(judge);
	if (r.weak != NULL)
		all_tested = report_weak(&r, 1, true, NULL, NULL);
	send_totals(&r, all_tested);
	return 0;
}

int
main(void)
{
	static struct orders orders = { .socket = STDIN_FILENO };
	struct setup setup;
	struct kv_judge judge;
	/* Filters and lists are asked for their sizes. More is refused then. */
	const struct wall_kept opening = {
		.writes = true, /* for fstat(2); what is open says what else */
		.refuses_more = true,
	};
	struct wall_kept kept = { 0 };
	unsigned int walls;
	int status;
	bool keys, judged;

	if (!handed_setup(&orders, &setup))
		return CLI_UNCHECKED;
	keys = (setup.flags & READING_KEYS) != 0;
	judged = !keys || (setup.flags & READING_JUDGED) != 0;
	/* The file of the time zone is read while that is possible. */
	if ((setup.flags & READING_LOGS) != 0) {
		(void)setenv("TZ", setup.config != NULL ? setup.config : "", 1);
		tzset();
	}
	/* Its configuration may name code to load. */
	(void)OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	kept.memory = find_memory(&setup);
	walls = wall_enter(&kept);
	if (judged) {
		(void)wall_refuse_calls(&opening);
		if (!handed_judge(&orders, &setup, &judge))
			return CLI_UNCHECKED;
	}
	walls |= wall_refuse_calls(&kept);
	send_hello(walls);
	if (judged)
		facts_send(&out, &judge);
	status = keys ? read_keys(&orders, &setup, judged ? &judge : NULL) :
	    (setup.flags & READING_ASKED) != 0 ?
			judge_keys(&orders, &judge) :
			read_report(&orders, &setup, &judge);
	if (judged)
		kv_judge_close(&judge);
	return status;
}
