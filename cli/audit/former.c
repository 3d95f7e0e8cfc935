/* SPDX-License-Identifier: ISC */
#include "audit/former.h"

#include <sys/stat.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"
#include "log_lines/former_records.h"
#include "working/working.h"

struct former {
	struct logins *logins;
	struct report *report;
	const char *path;
	uint64_t keys_max; /* more are not in the file */
	int problems;
	bool full, done;
};

static bool
receive_key(struct former *f, struct kv_bytes b)
{
	char type[FORMER_TYPE_BYTES];
	struct kv_span digest;
	uint64_t verdict, ca;

	if (kv_bytes_get_string(&b, &digest) != KV_OK ||
	    digest.len != KV_SHA256_BYTES ||
	    !record_get_text(&b, type, sizeof(type)) ||
	    !record_get_number(&b, &verdict) || verdict < KV_VERDICT_LISTED ||
	    verdict > KV_VERDICT_CLEAN || !record_get_limited(&b, 1, &ca) ||
	    b.left != 0 || f->keys_max-- == 0)
		return false;
	if (!f->full &&
	    !logins_add_former(f->logins, digest.p, type,
		(enum kv_verdict)verdict, ca != 0)) {
		f->full = true;
		report_problem_at(f->report, f->path, 0,
		    "too many keys; the rest was not read");
	}
	return true;
}

static bool
receive_problem(struct former *f, struct kv_bytes b)
{
	char reason[256];
	uint64_t line;

	if (!record_get_number(&b, &line) ||
	    !record_get_text(&b, reason, sizeof(reason)) || b.left != 0 ||
	    ++f->problems > FORMER_PROBLEMS_MAX)
		return false;
	report_problem_at(f->report, f->path, line, reason);
	if (f->problems == FORMER_PROBLEMS_MAX)
		report_problem_at(f->report, f->path, 0,
		    "too many problems; the rest was not read");
	return true;
}

static bool
receive(struct kv_bytes b, void *arg)
{
	struct former *f = arg;
	uint64_t what;

	if (f->done || !record_get_number(&b, &what))
		return false;
	if (what == FORMER_KEY)
		return receive_key(f, b);
	if (what == FORMER_PROBLEM)
		return receive_problem(f, b);
	f->done = what == FORMER_END && b.left == 0;
	return f->done;
}

void
former_read(struct logins *l, struct report *r, const char *path)
{
	struct former f = { .logins = l, .report = r, .path = path };
	struct working_task t = {
		.fd = { files_open(path, 0) },
		.n_fds = 1,
		.result = receive,
		.arg = &f,
		.has_parts = true,
		.done = &f.done,
	};
	char why[WALL_WHY_BYTES];
	struct stat st;

	if (t.fd[0] == -1) {
		report_problem_at(r, path, 0, strerror(errno));
		return;
	}
	f.keys_max = fstat(t.fd[0], &st) == 0 && S_ISREG(st.st_mode) ?
	    (uint64_t)st.st_size / FORMER_KEY_BYTES_MIN :
	    UINT64_MAX;
	working_task_begin(&t, "former");
	record_add_number(&t.args, l->all);
	if (!working_do(&t, why))
		report_problem_at(r, path, 0, why);
	close(t.fd[0]);
}
