/* SPDX-License-Identifier: ISC */
#include "tasks/fingerprints.h"

#include <limits.h>
#include <string.h>

#include "command.h"
#include "tasks/task.h"

struct answer {
	struct fingerprints *f;
	bool full; /* no more are taken, after a message */
	bool done;
	uint64_t error, bad_line;
	bool bad_krl;
};

static bool
receive(struct kv_bytes b, void *arg)
{
	struct answer *a = arg;
	struct kv_span digest;

	if (a->done || a->full || kv_bytes_get_string(&b, &digest) != KV_OK)
		return false;
	if (digest.len == KV_SHA256_BYTES && b.left == 0) {
		a->f->n++;
		a->full = !a->f->found(digest.p, a->f->arg);
		return !a->full;
	}
	a->done = digest.len == 0 &&
	    record_get_limited(&b, INT_MAX, &a->error) &&
	    record_get_flag(&b, &a->f->is_krl) &&
	    record_get_flag(&b, &a->bad_krl) &&
	    record_get_flag(&b, &a->f->is_report) &&
	    record_get_number(&b, &a->f->no_keys) &&
	    record_get_number(&b, &a->f->left_out) &&
	    record_get_number(&b, &a->f->key_line) &&
	    record_get_number(&b, &a->bad_line) &&
	    record_get_number(&b, &a->f->others) &&
	    record_get_number(&b, &a->f->first_other) && b.left == 0;
	return a->done;
}

bool
tasks_fingerprints(const char *shown, int fd, struct fingerprints *f)
{
	struct answer a = { .f = f };
	struct working_task t = {
		.fd = { fd },
		.n_fds = 1,
		.result = receive,
		.has_parts = true,
		.arg = &a,
		.done = &a.done,
	};
	char why[WALL_WHY_BYTES];

	working_task_begin(&t, "fingerprints");
	if (!working_do(&t, why))
		return !a.full && cli_error("%s: %s", shown, why);
	if (a.error != 0)
		return cli_error("%s: %s", shown, strerror((int)a.error));
	if (a.bad_krl)
		return cli_error("%s: not a whole KRL of OpenSSH", shown);
	if (a.bad_line != 0)
		return cli_error_at(shown, a.bad_line,
		    "not a fingerprint behind SHA256:; it has 43 characters of "
		    "base64");
	return true;
}
