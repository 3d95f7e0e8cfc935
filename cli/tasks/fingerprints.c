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
	int error;
	uint64_t bad_line;
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
	    record_get_all(&b, R_NUMBER(a->error, INT_MAX),
		R_FLAG(a->f->is_krl), R_FLAG(a->bad_krl),
		R_FLAG(a->f->is_report), R_ANY(a->f->no_keys),
		R_ANY(a->f->left_out), R_ANY(a->f->key_line),
		R_ANY(a->bad_line), R_ANY(a->f->others),
		R_ANY(a->f->first_other));
	return a->done;
}

bool
tasks_fingerprints(const char *shown, int fd, struct fingerprints *f)
{
	struct answer a = { .f = f };
	const struct working_task t = {
		.name = "fingerprints",
		.fd = { fd },
		.n_fds = 1,
		.result = receive,
		.has_parts = true,
		.arg = &a,
		.done = &a.done,
	};
	char why[WALL_WHY_BYTES];

	if (!working_do(&t, why))
		return !a.full && cli_error("%s: %s", shown, why);
	if (a.error != 0)
		return cli_error("%s: %s", shown, strerror(a.error));
	if (a.bad_krl)
		return cli_error("%s: not a whole KRL of OpenSSH", shown);
	if (a.bad_line != 0)
		return cli_error_at(shown, a.bad_line,
		    "not a fingerprint behind SHA256:; it has 43 characters of "
		    "base64");
	return true;
}
