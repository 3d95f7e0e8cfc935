/* SPDX-License-Identifier: ISC */
#include "tasks/folder.h"

#include "command.h"
#include "published/index_records.h"
#include "tasks/task.h"

/* --- the index ---------------------------------------------------------- */

bool
tasks_split(const char *shown, int fd, size_t *lenp)
{
	const struct working_task t = {
		.name = "split",
		.fd = { fd },
		.n_fds = 1,
		.answer = RECORD_FIELDS(R_NUMBER(*lenp, INDEX_MAX_BYTES)),
	};

	*lenp = 0;
	return tasks_do(&t, shown);
}

/* The parts of an index: the mistake or "", and the SHA-256; head; files. */
enum parsed_part { PARSED_WHY, PARSED_HEAD, PARSED_FILES };

struct parsed {
	bool done;
	enum parsed_part next;
	struct index *x;
	size_t n; /* of its files */
	char *sha256;
	char *why;
};

static bool
receive_index(struct kv_bytes b, void *arg)
{
	struct parsed *p = arg;
	bool ok;

	switch (p->next) {
	case PARSED_WHY:
		ok = record_get_all(&b, R_TEXT_AT(p->why, INDEX_WHY_BYTES),
			 R_TEXT_AT(p->sha256, INDEX_SHA256_BYTES)) &&
		    index_is_sha256(p->sha256);
		p->next = PARSED_HEAD;
		p->done = p->why[0] != '\0';
		return ok;
	case PARSED_HEAD:
		ok = !p->done && index_get_head(b, p->x, &p->n);
		p->next = PARSED_FILES;
		break;
	default:
		ok = index_get_file(b, p->x, p->n);
		break;
	}
	p->done = p->x->n == p->n;
	return ok;
}

bool
tasks_index(const char *shown, int fd, struct index *x,
    char sha256[static INDEX_SHA256_BYTES], char why[static INDEX_WHY_BYTES])
{
	struct parsed p = {
		.next = PARSED_WHY,
		.x = x,
		.sha256 = sha256,
		.why = why,
	};
	const struct working_task t = {
		.name = "index",
		.fd = { fd },
		.n_fds = 1,
		.result = receive_index,
		.arg = &p,
		.has_parts = true,
		.done = &p.done,
	};

	*x = (struct index){ .serial = 0 };
	sha256[0] = why[0] = '\0';
	return tasks_do(&t, shown);
}

/* --- a delta ------------------------------------------------------------ */

bool
tasks_patch(const struct folder_patch *p)
{
	bool fits = false;
	const struct working_task t = {
		.name = "patch",
		.args = RECORD_FIELDS(R_STRING(p->shown), R_STRING(p->path),
		    R_TEXT(p->delta->from), R_TEXT(p->delta->to),
		    R_VALUE(p->type), R_ANY(p->min), R_ANY(p->max)),
		.fd = { p->old, p->patch, p->out },
		.n_fds = 3,
		.file_bytes = p->max,
		.answer = RECORD_FIELDS(R_FLAG(fits)),
		.stopped = p->stopped,
	};
	char why[WALL_WHY_BYTES];

	if (working_do(&t, why))
		return fits;
	if (!p->stopped())
		cli_error("warning: %s: a delta is not used: %s", p->shown,
		    why);
	return false;
}
