/* SPDX-License-Identifier: ISC */
#include "tasks/list.h"

#include <sys/stat.h>

#include <string.h>
#include <time.h>

#include "command.h"
#include "working/working.h"

/* --- the manifest ------------------------------------------------------- */

static bool
receive_manifest(struct kv_bytes b, void *arg)
{
	return manifest_get_part(b, arg);
}

bool
tasks_manifest(const char *shown, int fd, struct manifest *m, bool *parsedp,
    char why[static MANIFEST_WHY_BYTES])
{
	struct manifest_found found = { .manifest = m };
	const struct working_task t = {
		.name = "manifest",
		.fd = { fd },
		.n_fds = 1,
		.result = receive_manifest,
		.arg = &found,
		.has_parts = true,
		.done = &found.complete,
	};

	*m = (struct manifest){ .time = 0 };
	if (!working_do_or_say(&t, shown))
		return false;
	*parsedp = found.ok;
	memcpy(why, found.why, sizeof(found.why));
	return true;
}

/* --- records ------------------------------------------------------------ */

static bool
has_size(int fd, uint64_t size)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size == size;
}

struct records {
	int fd;
	struct update_records *r;
};

static bool
receive_records(struct kv_bytes b, void *arg)
{
	const struct records *x = arg;

	return update_records_get(b, x->r) &&
	    (x->r->why[0] != '\0' ||
		has_size(x->fd, x->r->n * KV_BLOCKLIST_RECORD_BYTES));
}

bool
tasks_records(const char *shown, int fd, struct update_records *r)
{
	struct records x = { .fd = fd, .r = r };
	const struct working_task t = {
		.name = "records",
		.fd = { fd },
		.n_fds = 1,
		.result = receive_records,
		.arg = &x,
	};

	if (working_do_or_say(&t, shown))
		return true;
	*r = (struct update_records){ .n = 0 };
	return false;
}

/* --- unpacking ---------------------------------------------------------- */

static bool
receive_unpacked(struct kv_bytes b, void *arg)
{
	struct unpacked *u = arg;

	return record_get_all(&b, UNPACKED_FIELDS(u)) &&
	    (u->end == UNPACK_DAMAGED || u->end == UNPACK_NO_LIST) ==
	    (u->why[0] != '\0');
}

bool
tasks_unpack(const char *shown, int packed, int out, uint64_t max, bool is_list,
    bool (*stopped)(void), off_t *lenp, struct unpacked *x)
{
	const struct working_task t = {
		.name = "unpack",
		.args = RECORD_FIELDS(R_ANY(max), R_FLAG(is_list)),
		.fd = { packed, out },
		.n_fds = 2,
		.file_bytes = max,
		.result = receive_unpacked,
		.arg = x,
		.stopped = stopped,
	};
	struct stat st;

	if (!working_do_or_say(&t, shown))
		return false;
	if (fstat(out, &st) == -1)
		return cli_failed(shown, "cannot be unpacked");
	*lenp = st.st_size;
	return true;
}

/* --- losses ------------------------------------------------------------- */

bool
tasks_lost_records(const char *old_shown, int old, uint64_t n,
    const char *new_shown, int new, uint64_t *lostp)
{
	const struct working_task t = {
		.name = "lost-records",
		.args = RECORD_FIELDS(R_STRING(old_shown), R_STRING(new_shown)),
		.fd = { old, new },
		.n_fds = 2,
		.answer = RECORD_FIELDS(R_NUMBER(*lostp, n)),
	};

	if (working_do_or_say(&t, new_shown))
		return true;
	*lostp = 0;
	return false;
}

/* --- what is installed ---------------------------------------------------- */

struct facts {
	struct list_facts *f;
	char *why; /* LIST_WHY_BYTES */
	bool ok;
};

static bool
receive_facts(struct kv_bytes b, void *arg)
{
	struct facts *x = arg;
	struct list_facts *f = x->f;
	time_t time;
	struct tm tm;

	if (!record_get_all(&b, R_FLAG(x->ok),
		R_TEXT_AT(x->why, LIST_WHY_BYTES),
		R_NUMBER(f->records, KV_BLOCKLIST_RECORDS_MAX),
		R_ANY(f->hashes), R_FLAG(f->dated), R_ANY(f->time)) ||
	    f->hashes > f->records)
		return false;
	time = (time_t)f->time;
	return !f->dated ||
	    (gmtime_r(&time, &tm) != NULL &&
		strftime(f->date, sizeof(f->date), "%Y-%m-%d", &tm) > 0);
}

bool
tasks_list_facts(const char *path, int fd, int sources, struct list_facts *f,
    char why[static LIST_WHY_BYTES])
{
	struct facts x = { .f = f, .why = why };
	const struct working_task t = {
		.name = "list-facts",
		.args = RECORD_FIELDS(R_STRING(path), R_VALUE(sources != -1)),
		.fd = { fd, sources != -1 ? sources : fd },
		.n_fds = 2,
		.result = receive_facts,
		.arg = &x,
	};
	char broken[WALL_WHY_BYTES];

	*f = (struct list_facts){ .path = path };
	*why = '\0';
	if (working_do(&t, broken))
		return x.ok;
	snprintf(why, LIST_WHY_BYTES, "%.200s", broken);
	return false;
}

void
tasks_source(const char *shown, int fd, uint8_t id,
    char words[static KV_SOURCES_MAX_BYTES])
{
	const struct working_task t = {
		.name = "source",
		.args = RECORD_FIELDS(R_VALUE(id)),
		.fd = { fd },
		.n_fds = 1,
		.answer = RECORD_FIELDS(R_TEXT_AT(words, KV_SOURCES_MAX_BYTES)),
	};

	if (!working_do_or_say(&t, shown))
		*words = '\0';
}

struct found_paths {
	void (*give)(struct kv_span path, void *arg);
	void *arg;
	size_t n;
	bool ended;
	char why[LOOKUP_WHY_BYTES];
};

static bool
receive_path(struct kv_bytes b, void *arg)
{
	struct found_paths *x = arg;
	struct kv_span path;
	bool is_path;

	if (x->ended || !record_get(&b, R_FLAG(is_path)))
		return false;
	if (!is_path) {
		x->ended = true;
		return record_get_all(&b, R_TEXT(x->why));
	}
	if (!record_get_all(&b, R_SPAN(path)) || path.len >= LOOKUP_LINE_MAX ||
	    x->n++ == LOOKUP_PATHS_MAX)
		return false;
	x->give(path, x->arg);
	return true;
}

bool
tasks_lookup(int fd, const struct kv_blocklist_hash *h,
    void (*give)(struct kv_span path, void *arg), void *arg,
    char why[static WALL_WHY_BYTES])
{
	struct found_paths x = { .give = give, .arg = arg };
	const struct working_task t = {
		.name = "lookup",
		.args = RECORD_FIELDS(R_BYTES(h->byte)),
		.fd = { fd },
		.n_fds = 1,
		.result = receive_path,
		.arg = &x,
		.has_parts = true,
		.done = &x.ended,
	};

	if (!working_do(&t, why))
		return false;
	snprintf(why, WALL_WHY_BYTES, "%s", x.why);
	return *why == '\0';
}
