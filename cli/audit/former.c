/* SPDX-License-Identifier: ISC */
#include "audit/former.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/header.h"
#include "base/json_text.h"
#include "host/files.h"
#include "log_lines/former_records.h"
#include "working/working.h"

struct former {
	struct logins *logins;
	struct report *report; /* NULL: problems are errors */
	struct since *since;   /* NULL: keys are added to the logins */
	const char *path;
	uint64_t keys_max; /* more are not in the file */
	/* The accounts that are asked about; none: all, and the host keys. */
	const char *const *user;
	size_t n_users;
	bool *tells;  /* of this user */
	bool whole;   /* it tells of all */
	int problems; /* that the worker told */
	bool failed;  /* any problem */
	bool full, headed, done;
};

static void
report_at(struct former *f, uint64_t line, const char *reason)
{
	f->failed = true;
	if (f->report != NULL)
		report_problem_at(f->report, f->path, line, reason);
	else
		cli_error_at(f->path, line, reason);
}

static void
report_full(struct former *f)
{
	f->full = true;
	report_at(f, 0, "too many keys; the rest was not read");
}

static bool
receive_key(struct former *f, struct kv_bytes b)
{
	char type[FORMER_TYPE_BYTES];
	uint8_t digest[KV_SHA256_BYTES];
	enum kv_verdict verdict;
	bool ca;

	if (!record_get_all(&b, R_BYTES(digest), R_TEXT(type),
		R_RANGE(verdict, KV_VERDICT_LISTED, KV_VERDICT_CLEAN),
		R_FLAG(ca)) ||
	    f->keys_max-- == 0)
		return false;
	if (!f->full &&
	    !logins_add_former(f->logins, digest, type, verdict, ca))
		report_full(f);
	return true;
}

static bool
receive_account(struct former *f, struct kv_bytes b)
{
	char account[FORMER_ACCOUNT_BYTES];
	uint8_t digest[KV_SHA256_BYTES];
	bool ca;

	if (!record_get_all(&b, R_BYTES(digest), R_TEXT(account), R_FLAG(ca)) ||
	    !f->headed || f->keys_max-- == 0)
		return false;
	if (!f->full && !since_add_former(f->since, digest, account, ca))
		report_full(f);
	return true;
}

static bool
receive_header(struct former *f, struct kv_bytes b)
{
	char host[FORMER_HOST_BYTES], here[HOST_NAME_MAX + 1];
	char why[sizeof(host) + sizeof(here) + 64];

	if (f->headed ||
	    !record_get_all(&b, R_TEXT(host),
		R_NUMBER(f->since->time, INT64_MAX), R_FLAG(f->whole)))
		return false;
	f->headed = true;
	audit_host_name(here);
	if (strcmp(host, here) != 0) {
		snprintf(why, sizeof(why),
		    "is an audit of the host %s, and this is %s", host, here);
		report_at(f, 0, why);
	} else if (f->n_users == 0 && !f->whole)
		report_at(f, 0,
		    "was made with --user: it does not tell which keys other "
		    "accounts had");
	return true;
}

static bool
receive_user(struct former *f, struct kv_bytes b)
{
	char name[FORMER_ACCOUNT_BYTES];

	if (!record_get_all(&b, R_TEXT(name)) || !f->headed)
		return false;
	for (size_t i = 0; i < f->n_users; i++) {
		json_t *user = json_text(f->user[i]);

		f->tells[i] |= user != NULL &&
		    strcmp(json_string_value(user), name) == 0;
		json_decref(user);
	}
	return true;
}

/* Reports the first account that is asked about and that it did not look at. */
static void
check_users(struct former *f)
{
	char why[FORMER_ACCOUNT_BYTES + 64];

	for (size_t i = 0; i < f->n_users && !f->whole && !f->failed; i++) {
		snprintf(why, sizeof(why),
		    "was made with --user: it does not tell which keys %s had",
		    f->user[i]);
		if (!f->tells[i])
			report_at(f, 0, why);
	}
}

static bool
receive_problem(struct former *f, struct kv_bytes b)
{
	char reason[256];
	uint64_t line;

	if (!record_get_all(&b, R_ANY(line), R_TEXT(reason)) ||
	    ++f->problems > FORMER_PROBLEMS_MAX)
		return false;
	report_at(f, line, reason);
	if (f->problems == FORMER_PROBLEMS_MAX)
		report_at(f, 0, "too many problems; the rest was not read");
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
		return f->since == NULL && receive_key(f, b);
	if (what == FORMER_HEADER)
		return f->since != NULL && receive_header(f, b);
	if (what == FORMER_USER)
		return f->since != NULL && receive_user(f, b);
	if (what == FORMER_ACCOUNT)
		return f->since != NULL && receive_account(f, b);
	if (what == FORMER_PROBLEM)
		return receive_problem(f, b);
	f->done = what == FORMER_END && b.left == 0 &&
	    (f->since == NULL || f->headed || f->failed);
	return f->done;
}

static void
read_audit(struct former *f, enum former_wanted wanted)
{
	const struct working_task t = {
		.name = "former",
		.args = RECORD_FIELDS(R_VALUE(wanted)),
		.fd = { files_open(f->path, 0) },
		.n_fds = 1,
		.result = receive,
		.arg = f,
		.has_parts = true,
		.done = &f->done,
	};
	char why[WALL_WHY_BYTES];
	struct stat st;

	if (t.fd[0] == -1) {
		report_at(f, 0, strerror(errno));
		return;
	}
	f->keys_max = fstat(t.fd[0], &st) == 0 && S_ISREG(st.st_mode) ?
	    (uint64_t)st.st_size / FORMER_KEY_BYTES_MIN :
	    UINT64_MAX;
	if (!working_do(&t, why))
		report_at(f, 0, why);
	close(t.fd[0]);
}

void
former_read(struct logins *l, struct report *r, const char *path)
{
	struct former f = { .logins = l, .report = r, .path = path };

	read_audit(&f, l->all ? FORMER_ALL : FORMER_LISTED);
}

bool
former_read_accounts(struct since *s, const char *path, const char *const *user,
    size_t n_users)
{
	struct former f = {
		.since = s,
		.path = path,
		.user = user,
		.n_users = n_users,
		.tells = calloc(n_users + 1, sizeof(bool)),
	};

	if (f.tells == NULL)
		return cli_error("%s", strerror(errno));
	read_audit(&f, FORMER_ACCOUNTS);
	check_users(&f);
	free(f.tells);
	return !f.failed;
}
