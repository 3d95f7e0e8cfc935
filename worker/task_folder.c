/* SPDX-License-Identifier: ISC */
/* The tasks about what a published folder has, for cli/update/folder.h. */
#include <sys/types.h> /* sha2.h of libmd needs u_int types */

#include <errno.h>
#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "published/index_records.h"
#include "published/unxz.h"
#include "sets/delta.h"
#include "tasks.h"

#define READ_BYTES (256 * 1024)
#define WHY_BYTES 256

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
	record_add_number(task_result(), text_len);
	ask_tell();
	return true;
}

bool
task_index(struct task_work *t)
{
	char why[INDEX_WHY_BYTES], sha256[INDEX_SHA256_BYTES];
	struct record_out *o;
	struct index x;
	size_t len;
	bool ok;

	if (!read_index(t->fd[0], &len))
		return false;
	ok = index_parse(index_bytes, len, &x, why);
	(void)SHA256Data((const uint8_t *)index_bytes, len, sha256);
	o = task_result();
	record_add_text(o, why);
	record_add_text(o, sha256);
	ask_tell();
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

/* --- a packed file ------------------------------------------------------ */

struct unpacking {
	int out;
	uint64_t len, max;
	bool too_long;
	int error; /* errno of writing */
};

static bool
add_unpacked(const void *p, size_t len, void *arg)
{
	struct unpacking *u = arg;

	u->too_long = len > u->max - u->len;
	if (u->too_long)
		return false;
	if (!io_write_at(u->out, p, len, (off_t)u->len)) {
		u->error = errno;
		return false;
	}
	u->len += len;
	return true;
}

/* Passes all of it on. False with *errorp, if it cannot be read, or without. */
static bool
unpack_file(struct unxz *xz, int fd, int *errorp)
{
	static uint8_t buf[READ_BYTES];
	off_t at = 0;
	ssize_t n;

	for (;;) {
		n = pread(fd, buf, sizeof(buf), at);
		if (n == 0)
			return unxz_end(xz);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1) {
			*errorp = errno;
			return false;
		}
		if (!unxz_add(xz, buf, (size_t)n))
			return false;
		at += n;
	}
}

bool
task_unpack(struct task_work *t)
{
	struct unpacking u = { .out = t->fd[1] };
	char why[WHY_BYTES] = "";
	struct record_out *o;
	struct unxz xz;
	int error = 0;

	if (record_get_number(&t->args, &u.max) != KV_OK)
		return false;
	unxz_begin(&xz, add_unpacked, &u);
	(void)unpack_file(&xz, t->fd[0], &error);
	if (xz.why != NULL)
		snprintf(why, sizeof(why), "%s", xz.why);
	else if (error != 0)
		snprintf(why, sizeof(why), "%s", strerror(error));
	else if (u.too_long)
		snprintf(why, sizeof(why),
		    "has more than the %" PRIu64
		    " bytes that the index says, when unpacked: damaged, or "
		    "changed on its way; try again later",
		    u.max);
	unxz_free(&xz);
	o = task_result();
	record_add_number(o, (uint64_t)u.error);
	record_add_text(o, why);
	ask_tell();
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
	struct kv_bytes *b = &t->args;
	char why[DELTA_WHY_BYTES];
	struct promise p;
	bool fits;

	if (!record_get_text(b, shown, sizeof(shown)) ||
	    !record_get_text(b, path, sizeof(path)) ||
	    !record_get_text(b, p.from, sizeof(p.from)) ||
	    !record_get_text(b, p.to, sizeof(p.to)) ||
	    record_get_number(b, &p.type) != KV_OK ||
	    record_get_number(b, &p.min) != KV_OK ||
	    record_get_number(b, &p.max) != KV_OK)
		return false;
	fits = is_promised(&p, &delta) &&
	    delta_apply(&old, &delta, &out, why) == DELTA_DONE;
	record_add_number(task_result(), fits);
	ask_tell();
	return true;
}
