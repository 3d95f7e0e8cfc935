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
	bool good;
	struct publish_facts *facts;
};

static bool
receive_judged(struct kv_bytes b, void *arg)
{
	struct judged *j = arg;
	struct publish_facts *f = j->facts;

	return record_get_all(&b, R_FLAG(j->good),
		   R_NUMBER(f->revision, UINT32_MAX), R_FLAG(f->dated),
		   R_ANY(f->date)) &&
	    (!j->good || has_bytes(j->fd));
}

bool
publish_task_judge(const char *shown, int fd, enum index_type type, int sources,
    struct publish_facts *facts)
{
	struct judged j = { .fd = fd, .facts = facts };
	const struct working_task t = {
		.name = "judge",
		.args = RECORD_FIELDS(R_STRING(shown), R_VALUE(type),
		    R_VALUE(sources != -1)),
		.fd = { fd, sources != -1 ? sources : fd },
		.n_fds = 2,
		.result = receive_judged,
		.arg = &j,
	};

	return tasks_do(&t, shown) && j.good;
}

/* --- packing ------------------------------------------------------------ */

bool
publish_task_pack(const char *shown, int in, enum index_type type,
    const char *out_shown, int out)
{
	bool good = false;
	const struct working_task t = {
		.name = "pack",
		.args = RECORD_FIELDS(R_STRING(shown), R_VALUE(type),
		    R_STRING(out_shown)),
		.fd = { in, out },
		.n_fds = 2,
		.file_bytes = most_bytes(in),
		.answer = RECORD_FIELDS(R_FLAG(good)),
	};

	return tasks_do(&t, shown) && good;
}

/* --- a delta ------------------------------------------------------------ */

struct made {
	int delta;
	enum delta_end end;
	char *why;
};

static bool
receive_made(struct kv_bytes b, void *arg)
{
	struct made *m = arg;

	return record_get_all(&b, R_NUMBER(m->end, DELTA_NO_SUCCESSOR),
		   R_TEXT_AT(m->why, DELTA_WHY_BYTES)) &&
	    (m->end != DELTA_DONE || has_bytes(m->delta));
}

enum delta_end
publish_task_delta(const struct publish_delta *d,
    char why[static DELTA_WHY_BYTES])
{
	struct made m = { .delta = d->delta, .why = why };
	const struct working_task t = {
		.name = "delta",
		.args = RECORD_FIELDS(R_STRING(d->shown),
		    R_STRING(d->delta_shown)),
		.fd = { d->old, d->new, d->delta, d->again },
		.n_fds = 4,
		.file_bytes = most_bytes(d->old) + most_bytes(d->new),
		.result = receive_made,
		.arg = &m,
	};

	return tasks_do(&t, d->shown) ? m.end : DELTA_FAILED;
}
