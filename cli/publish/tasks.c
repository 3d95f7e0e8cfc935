/* SPDX-License-Identifier: ISC */
#include "publish/tasks.h"

#include <sys/stat.h>

#include "tasks/task.h"

/* Nothing that is published is empty. */
static bool
has_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size > 0;
}

/* More than what is made of the file, whatever is in it. */
static uint64_t
most_bytes(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? 2 * (uint64_t)st.st_size + 1024 * 1024 : 0;
}

/* --- what is given ------------------------------------------------------ */

struct judged {
	int fd;
	uint64_t good;
	struct publish_facts *facts;
};

static bool
receive_judged(struct kv_bytes b, void *arg)
{
	struct judged *j = arg;
	uint64_t revision, date;
	bool dated;

	if (!record_get_limited(&b, 1, &j->good) ||
	    !record_get_limited(&b, UINT32_MAX, &revision) ||
	    !record_get_flag(&b, &dated) || !record_get_number(&b, &date) ||
	    b.left != 0 || (j->good != 0 && !has_bytes(j->fd)))
		return false;
	*j->facts = (struct publish_facts){
		.revision = (uint32_t)revision,
		.dated = dated,
		.date = (int64_t)date,
	};
	return true;
}

bool
publish_task_judge(const char *shown, int fd, enum index_type type, int sources,
    struct publish_facts *facts)
{
	struct judged j = { .fd = fd, .facts = facts };
	struct working_task t = {
		.fd = { fd, sources != -1 ? sources : fd },
		.n_fds = 2,
		.result = receive_judged,
		.arg = &j,
	};

	working_task_begin(&t, "judge");
	record_add_text(&t.args, shown);
	record_add_number(&t.args, type);
	record_add_number(&t.args, sources != -1);
	return tasks_do(&t, shown) && j.good != 0;
}

/* --- packing ------------------------------------------------------------ */

bool
publish_task_pack(const char *shown, int in, enum index_type type,
    const char *out_shown, int out)
{
	uint64_t good = 0;
	struct working_task t = {
		.fd = { in, out },
		.n_fds = 2,
		.file_bytes = most_bytes(in),
		.number = &good,
		.max = 1,
	};

	working_task_begin(&t, "pack");
	record_add_text(&t.args, shown);
	record_add_number(&t.args, type);
	record_add_text(&t.args, out_shown);
	return tasks_do(&t, shown) && good != 0;
}

/* --- a delta ------------------------------------------------------------ */

struct made {
	int delta;
	uint64_t end;
	char *why;
};

static bool
receive_made(struct kv_bytes b, void *arg)
{
	struct made *m = arg;

	return record_get_limited(&b, DELTA_NO_SUCCESSOR, &m->end) &&
	    record_get_text(&b, m->why, DELTA_WHY_BYTES) && b.left == 0 &&
	    (m->end != DELTA_DONE || has_bytes(m->delta));
}

enum delta_end
publish_task_delta(const struct publish_delta *d,
    char why[static DELTA_WHY_BYTES])
{
	struct made m = { .delta = d->delta, .why = why };
	struct working_task t = {
		.fd = { d->old, d->new, d->delta, d->again },
		.n_fds = 4,
		.file_bytes = most_bytes(d->old) + most_bytes(d->new),
		.result = receive_made,
		.arg = &m,
	};

	working_task_begin(&t, "delta");
	record_add_text(&t.args, d->shown);
	record_add_text(&t.args, d->delta_shown);
	return tasks_do(&t, d->shown) ? (enum delta_end)m.end : DELTA_FAILED;
}
