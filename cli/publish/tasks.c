/* SPDX-License-Identifier: ISC */
/* Has a worker do tasks of worker/task_publish.c, and checks what it says. */
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
	bool done;
	int fd;
	uint64_t good;
	struct publish_facts *facts;
};

static bool
receive_judged(struct kv_bytes b, void *arg)
{
	struct judged *j = arg;
	uint64_t revision, dated, date;

	j->done = !j->done && record_get_limited(&b, 1, &j->good) &&
	    record_get_limited(&b, UINT32_MAX, &revision) &&
	    record_get_limited(&b, 1, &dated) && record_get_number(&b, &date) &&
	    b.left == 0 && (j->good == 0 || has_bytes(j->fd));
	if (j->done)
		*j->facts = (struct publish_facts){
			.revision = (uint32_t)revision,
			.dated = dated != 0,
			.date = (int64_t)date,
		};
	return j->done;
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
		.done = &j.done,
	};

	working_task_begin(&t, "judge");
	record_add_text(&t.args, shown);
	record_add_number(&t.args, type);
	record_add_number(&t.args, sources != -1);
	return tasks_do(&t, shown) && j.good != 0;
}

/* --- packing ------------------------------------------------------------ */

struct packed {
	bool done;
	uint64_t good;
};

static bool
receive_packed(struct kv_bytes b, void *arg)
{
	struct packed *p = arg;

	p->done = !p->done && record_get_limited(&b, 1, &p->good) &&
	    b.left == 0;
	return p->done;
}

bool
publish_task_pack(const char *shown, int in, enum index_type type,
    const char *out_shown, int out)
{
	struct packed p = { .done = false };
	struct working_task t = {
		.fd = { in, out },
		.n_fds = 2,
		.file_bytes = most_bytes(in),
		.result = receive_packed,
		.arg = &p,
		.done = &p.done,
	};

	working_task_begin(&t, "pack");
	record_add_text(&t.args, shown);
	record_add_number(&t.args, type);
	record_add_text(&t.args, out_shown);
	return tasks_do(&t, shown) && p.good != 0;
}

/* --- a delta ------------------------------------------------------------ */

struct made {
	bool done;
	int delta;
	uint64_t end;
	char *why;
};

static bool
receive_made(struct kv_bytes b, void *arg)
{
	struct made *m = arg;

	m->done = !m->done &&
	    record_get_limited(&b, DELTA_NO_SUCCESSOR, &m->end) &&
	    record_get_text(&b, m->why, DELTA_WHY_BYTES) && b.left == 0 &&
	    (m->end != DELTA_DONE || has_bytes(m->delta));
	return m->done;
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
		.done = &m.done,
	};

	working_task_begin(&t, "delta");
	record_add_text(&t.args, d->shown);
	record_add_text(&t.args, d->delta_shown);
	return tasks_do(&t, d->shown) ? (enum delta_end)m.end : DELTA_FAILED;
}
