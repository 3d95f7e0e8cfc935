/* SPDX-License-Identifier: ISC */
#include "published/unpack.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/progress.h"
#include "published/unxz.h"

#define READ_BYTES (256 * 1024)

struct unpacking {
	struct unpacked *u;
	int out;
	uint64_t len, max;
	bool is_list;
	struct update_records found;
	struct update_records_check check;
};

static bool
fail(struct unpacked *u, enum unpack_end end, int error)
{
	u->end = end;
	u->error = error;
	return false;
}

static bool
add_unpacked(const void *p, size_t len, void *arg)
{
	struct unpacking *k = arg;

	if (len > k->max - k->len)
		return fail(k->u, UNPACK_TOO_LARGE, 0);
	if (k->is_list && !update_records_add(&k->check, p, len)) {
		snprintf(k->u->why, sizeof(k->u->why), "%s", k->found.why);
		return fail(k->u, UNPACK_NO_LIST, 0);
	}
	if (!io_write_at(k->out, p, len, (off_t)k->len))
		return fail(k->u, UNPACK_NOT_WRITTEN, errno);
	k->len += len;
	return true;
}

static bool
read_packed(int packed, struct unxz *xz, struct unpacked *u)
{
	static uint8_t buf[READ_BYTES];
	struct progress progress;
	struct stat st;
	ssize_t n = 1;
	bool ok = true;

	progress_start(&progress, "unpacking",
	    fstat(packed, &st) == 0 ? (uint64_t)st.st_size : 0);
	for (off_t at = 0; ok && n != 0; at += n > 0 ? n : 0) {
		n = pread(packed, buf, sizeof(buf), at);
		if (n == -1 && errno != EINTR)
			ok = fail(u, UNPACK_NOT_READ, errno);
		else if (n > 0)
			ok = unxz_add(xz, buf, (size_t)n);
		if (n > 0)
			progress_add(&progress, (uint64_t)n);
	}
	progress_clear(&progress);
	return ok && unxz_end(xz);
}

void
unpack_file(int packed, int out, uint64_t max, bool is_list, struct unpacked *u)
{
	struct unpacking k = { .u = u, .out = out, .max = max };
	struct unxz xz;

	*u = (struct unpacked){ .end = UNPACK_DAMAGED };
	k.is_list = is_list;
	update_records_begin(&k.check, &k.found);
	k.check.only_order = true;
	unxz_begin(&xz, add_unpacked, &k);
	if (read_packed(packed, &xz, u))
		u->end = UNPACK_DONE;
	else if (xz.why != NULL)
		snprintf(u->why, sizeof(u->why), "%s", xz.why);
	unxz_free(&xz);
}
