/* SPDX-License-Identifier: ISC */
#include "tasks/list.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "tasks/task.h"

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
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_manifest,
		.arg = &found,
		.done = &found.complete,
	};

	*m = (struct manifest){ .time = 0 };
	working_task_begin(&t, "manifest");
	if (!tasks_do(&t, shown))
		return false;
	*parsedp = found.ok;
	memcpy(why, found.why, sizeof(found.why));
	return true;
}

/* --- the sources -------------------------------------------------------- */

struct lines {
	bool done;
	size_t max;
	char *text;
};

static bool
receive_lines(struct kv_bytes b, void *arg)
{
	struct lines *l = arg;

	l->done = !l->done && record_get_text(&b, l->text, l->max + 1) &&
	    b.left == 0;
	return l->done;
}

char *
tasks_sources(const char *shown, int fd, size_t max)
{
	struct lines l = { .max = max, .text = malloc(max + 1) };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_lines,
		.arg = &l,
		.done = &l.done,
	};

	if (l.text == NULL) {
		cli_error("out of memory");
		return NULL;
	}
	working_task_begin(&t, "sources");
	record_add_number(&t.args, max);
	if (tasks_do(&t, shown))
		return l.text;
	free(l.text);
	return NULL;
}

/* --- records ------------------------------------------------------------ */

static bool
has_size(int fd, uint64_t size)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (uint64_t)st.st_size == size;
}

struct records {
	bool done;
	int fd;
	struct update_records *r;
};

static bool
receive_records(struct kv_bytes b, void *arg)
{
	struct records *x = arg;

	x->done = !x->done && update_records_get(&b, x->r) && b.left == 0 &&
	    (x->r->why[0] != '\0' ||
		has_size(x->fd, x->r->n * KV_BLOCKLIST_RECORD_BYTES));
	return x->done;
}

bool
tasks_records(const char *shown, int fd, struct update_records *r)
{
	struct records x = { .fd = fd, .r = r };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_records,
		.arg = &x,
		.done = &x.done,
	};

	working_task_begin(&t, "records");
	if (tasks_do(&t, shown))
		return true;
	*r = (struct update_records){ .n = 0 };
	return false;
}

/* --- unpacking ---------------------------------------------------------- */

struct unpacking {
	bool done;
	struct unpacked *x;
};

static bool
receive_unpacked(struct kv_bytes b, void *arg)
{
	struct unpacking *k = arg;

	k->done = !k->done && unpack_get(b, k->x);
	return k->done;
}

bool
tasks_unpack(const char *shown, int packed, int out, uint64_t max, bool is_list,
    bool (*stopped)(void), off_t *lenp, struct unpacked *x)
{
	struct unpacking k = { .x = x };
	struct working_task t = {
		.fd = { packed, out },
		.n_fds = 2,
		.file_bytes = max,
		.result = receive_unpacked,
		.arg = &k,
		.done = &k.done,
		.stopped = stopped,
	};
	struct stat st;

	working_task_begin(&t, "unpack");
	record_add_number(&t.args, max);
	record_add_number(&t.args, is_list);
	if (!tasks_do(&t, shown))
		return false;
	if (fstat(out, &st) == -1)
		return cli_failed(shown, "cannot be unpacked");
	*lenp = st.st_size;
	return true;
}

/* --- losses ------------------------------------------------------------- */

struct lost {
	bool done;
	uint64_t n, max;
};

static bool
receive_lost(struct kv_bytes b, void *arg)
{
	struct lost *l = arg;

	l->done = !l->done && record_get_number(&b, &l->n) && l->n <= l->max &&
	    b.left == 0;
	return l->done;
}

bool
tasks_lost_records(const char *old_shown, int old, uint64_t n,
    const char *new_shown, int new, uint64_t *lostp)
{
	struct lost l = { .max = n };
	struct working_task t = {
		.fd = { old, new },
		.n_fds = 2,
		.result = receive_lost,
		.arg = &l,
		.done = &l.done,
	};

	working_task_begin(&t, "lost-records");
	record_add_text(&t.args, old_shown);
	record_add_text(&t.args, new_shown);
	*lostp = 0;
	if (!tasks_do(&t, new_shown))
		return false;
	*lostp = l.n;
	return true;
}
