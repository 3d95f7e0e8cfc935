/* SPDX-License-Identifier: ISC */
#include "tasks/filter.h"

#include <sys/stat.h>

#include <string.h>

#include "tasks/task.h"

/* Whether a filter with this header would be the whole file. */
static bool
is_whole(int fd, const struct kv_pkbf_header *h)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	    st.st_size == kv_pkbf_file_bytes(h->length);
}

struct head {
	int fd;
	struct filter_head *f;
};

static bool
receive_head(struct kv_bytes b, void *arg)
{
	const struct head *h = arg;

	return filter_head_get(b, h->f) &&
	    (h->f->whole != KV_OK || is_whole(h->fd, &h->f->header));
}

bool
tasks_filter_head(const char *shown, int fd, struct filter_head *f)
{
	struct head h = { .fd = fd, .f = f };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive_head,
		.arg = &h,
	};

	working_task_begin(&t, "filter-head");
	return tasks_do(&t, shown);
}

struct judged {
	int fd;
	const char *shown;
	uint64_t old_bits;
	struct filter_judged *j;
};

static bool
receive_judged(struct kv_bytes b, void *arg)
{
	const struct judged *x = arg;

	return filter_judged_get(b, x->shown, x->old_bits, x->j) &&
	    (!x->j->ok || is_whole(x->fd, &x->j->facts.header));
}

bool
tasks_judge_filter(const char *shown, int fd, double max_rate,
    const char *old_shown, const struct kv_pkbf *old, bool (*stopped)(void),
    struct filter_judged *j)
{
	struct judged x = { .fd = fd, .shown = shown, .j = j };
	struct working_task t = {
		.fd = { fd, old->fd != -1 ? old->fd : fd },
		.n_fds = 2,
		.result = receive_judged,
		.arg = &x,
		.stopped = stopped,
	};
	uint64_t bits;

	if (old->fd != -1)
		x.old_bits = (uint64_t)1 << old->header.length;
	memcpy(&bits, &max_rate, sizeof(bits));
	working_task_begin(&t, "judge-filter");
	record_add_text(&t.args, shown);
	record_add_number(&t.args, bits);
	record_add_number(&t.args, old->fd != -1);
	record_add_text(&t.args, old_shown);
	*j = (struct filter_judged){ .ok = false };
	return tasks_do(&t, shown) && j->ok;
}

struct set_bits {
	uint64_t max, n;
	bool ok;
};

static bool
receive_set_bits(struct kv_bytes b, void *arg)
{
	struct set_bits *x = arg;

	return record_get_flag(&b, &x->ok) &&
	    record_get_limited(&b, x->max, &x->n) && b.left == 0;
}

bool
tasks_filter_facts(const char *path, const struct kv_pkbf *f,
    struct filter_facts *facts)
{
	struct set_bits x = { .max = (uint64_t)1 << f->header.length };
	struct working_task t = {
		.fd = { f->fd },
		.n_fds = 1,
		.result = receive_set_bits,
		.arg = &x,
	};
	bool ok;

	working_task_begin(&t, "filter-facts");
	record_add_text(&t.args, path);
	ok = tasks_do(&t, path) && x.ok;
	filter_facts_set(path, &f->header, x.n, facts);
	return ok;
}
