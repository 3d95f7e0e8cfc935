/* SPDX-License-Identifier: ISC */
/* The tasks about what a published folder has, for cli/tasks/folder.h. */
#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <sha2.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "published/index_records.h"
#include "sets/delta.h"
#include "tasks.h"

/* --- the index ---------------------------------------------------------- */

static char index_bytes[INDEX_MAX_BYTES];

/* All of it. False if it cannot be read, or is too long. */
static bool
read_index(int fd, size_t *lenp)
{
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) == -1 ||
	    (n = io_read(fd, index_bytes, sizeof(index_bytes))) == -1)
		return false;
	*lenp = (size_t)n;
	return true;
}

bool
task_split(struct task_work *t)
{
	size_t len, text_len;

	if (!read_index(t->fd[0], &len))
		return false;
	(void)index_split(index_bytes, len, &text_len);
	return task_tell(R_ANY(text_len));
}

bool
task_index(struct task_work *t)
{
	char why[INDEX_WHY_BYTES], sha256[INDEX_SHA256_BYTES];
	struct index x;
	size_t len;
	bool ok;

	if (!read_index(t->fd[0], &len))
		return false;
	ok = index_parse(index_bytes, len, &x, why);
	(void)SHA256Data((const uint8_t *)index_bytes, len, sha256);
	task_tell(R_TEXT(why), R_TEXT(sha256));
	if (ok) {
		index_add_head(task_result(), &x);
		ask_tell();
	}
	for (size_t i = 0; ok && i < x.n; i++) {
		index_add_file(task_result(), &x.file[i]);
		ask_tell();
	}
	index_free(&x);
	return true;
}

/* --- a delta ------------------------------------------------------------ */

/* What the index promises of a delta. */
struct promise {
	char from[INDEX_SHA256_BYTES], to[INDEX_SHA256_BYTES];
	uint64_t type, min, max;
};

static bool
is_promised(const struct promise *p, const struct delta_file *delta)
{
	char why[DELTA_WHY_BYTES], from[INDEX_SHA256_BYTES],
	    to[INDEX_SHA256_BYTES];
	struct delta_header h;

	if (delta_find_header(delta, &h, why) != DELTA_DONE)
		return false;
	index_format_sha256(h.old_sha256, from);
	index_format_sha256(h.new_sha256, to);
	return strcmp(from, p->from) == 0 && strcmp(to, p->to) == 0 &&
	    h.kind == (p->type == INDEX_PKBF ? DELTA_FILTER : DELTA_LIST) &&
	    h.new_size >= p->min && h.new_size <= p->max;
}

bool
task_patch(struct task_work *t)
{
	static char shown[WORKING_TEXT_BYTES], path[WORKING_TEXT_BYTES];
	const struct delta_file old = { path, t->fd[0] };
	const struct delta_file delta = { shown, t->fd[1] };
	const struct delta_file out = { path, t->fd[2] };
	char why[DELTA_WHY_BYTES];
	struct promise p;
	bool fits;

	if (!record_get(&t->args, R_TEXT(shown), R_TEXT(path), R_TEXT(p.from),
		R_TEXT(p.to), R_ANY(p.type), R_ANY(p.min), R_ANY(p.max)))
		return false;
	fits = is_promised(&p, &delta) &&
	    delta_apply(&old, &delta, &out, why) == DELTA_DONE;
	return task_tell(R_FLAG(fits));
}
