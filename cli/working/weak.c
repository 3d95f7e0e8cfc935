/* SPDX-License-Identifier: ISC */
#include "working/weak.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"
#include "weak/records.h"
#include "working/working.h"

struct answers {
	struct weak_tests *tests;
	size_t next;
};

static bool
receive_found(struct kv_bytes b, void *arg)
{
	struct answers *a = arg;

	return weak_records_get_found(b, a->tests, &a->next);
}

/* Writes what is to be tested into a file in memory. -1 with errno. */
static int
write_tests(const struct weak_tests *t)
{
	struct record_out o = { .fd = -1 };
	const int fd = memory_file("moduli");
	bool ok;

	if (fd == -1)
		return -1;
	weak_records_put(&o, t);
	ok = io_write(fd, o.buf, o.len);
	record_out_free(&o);
	if (ok)
		return fd;
	close(fd);
	return -1;
}

bool
working_weak(struct weak_tests *t)
{
	struct answers a = { .tests = t };
	const struct working_task task = {
		.name = "weak",
		.fd = { write_tests(t) },
		.n_fds = 1,
		.result = receive_found,
		.arg = &a,
		.has_parts = true,
	};
	char why[WALL_WHY_BYTES];
	bool ok;

	if (task.fd[0] == -1) {
		snprintf(t->why, sizeof(t->why), "%s", strerror(errno));
		return false;
	}
	ok = working_do(&task, why);
	close(task.fd[0]);
	snprintf(t->why, sizeof(t->why), "%s", why);
	return ok;
}
