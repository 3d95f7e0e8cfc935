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
		.has_parts = true,
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
	size_t max;
	char *text;
};

static bool
receive_lines(struct kv_bytes b, void *arg)
{
	const struct lines *l = arg;

	return record_get_text(&b, l->text, l->max + 1) && b.left == 0;
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
	int fd;
	struct update_records *r;
};

static bool
receive_records(struct kv_bytes b, void *arg)
{
	const struct records *x = arg;

	return update_records_get(&b, x->r) && b.left == 0 &&
	    (x->r->why[0] != '\0' ||
		has_size(x->fd, x->r->n * KV_BLOCKLIST_RECORD_BYTES));
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
	};

	working_task_begin(&t, "records");
	if (tasks_do(&t, shown))
		return true;
	*r = (struct update_records){ .n = 0 };
	return false;
}

/* --- unpacking ---------------------------------------------------------- */

static bool
receive_unpacked(struct kv_bytes b, void *arg)
{
	return unpack_get(b, arg);
}

bool
tasks_unpack(const char *shown, int packed, int out, uint64_t max, bool is_list,
    bool (*stopped)(void), off_t *lenp, struct unpacked *x)
{
	struct working_task t = {
		.fd = { packed, out },
		.n_fds = 2,
		.file_bytes = max,
		.result = receive_unpacked,
		.arg = x,
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

bool
tasks_lost_records(const char *old_shown, int old, uint64_t n,
    const char *new_shown, int new, uint64_t *lostp)
{
	struct working_task t = {
		.fd = { old, new },
		.n_fds = 2,
		.number = lostp,
		.max = n,
	};

	working_task_begin(&t, "lost-records");
	record_add_text(&t.args, old_shown);
	record_add_text(&t.args, new_shown);
	if (tasks_do(&t, new_shown))
		return true;
	*lostp = 0;
	return false;
}
