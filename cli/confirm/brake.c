/* SPDX-License-Identifier: ISC */
#include "confirm/brake.h"

#include <sys/mman.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "host/io.h"
#include "update/hold.h"

/* The keys, as a list of their own under the name of the list. */
struct fresh {
	const char *list;
	int fd;
};

static enum kv_err
open_fresh(const char *path, int *fdp, char why[static KV_TRUSTED_WHY_BYTES],
    void *arg)
{
	const struct fresh *f = arg;

	if (strcmp(path, f->list) != 0)
		return cli_open_as_login(path, fdp, why, NULL);
	*fdp = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
	if (*fdp != -1)
		return KV_OK;
	snprintf(why, KV_TRUSTED_WHY_BYTES, "%.400s: %s", path,
	    strerror(errno));
	return KV_ERR_SYSTEM;
}

/* The lines of the keys were printed already. */
static void
pass_over_key(const struct report *r, const struct input_key *key,
    const struct kv_decision *d)
{
	(void)r;
	(void)key;
	(void)d;
}

static void
print_problem(const struct input_problem *p)
{
	cli_error_at(p->path, p->line, p->reason);
}

/* Audits the accounts. Whether no administrator would be refused. */
static bool
is_harmless(const struct kv_judge *known, const struct kv_judge *judge,
    const char *list, const struct update_hold *hold)
{
	/* So many accounts may be refused: each key is proved compromised. */
	struct update_hold any = *hold;
	struct accounts accounts = { 0 };
	struct audit_refused h = { 0 };
	struct report r = {
		.judge = judge,
		.known = known,
		.on_listed = pass_over_key,
		.on_unjudged = print_problem,
		.quiet = true,
		.out = stdout,
		.err = stderr,
		.now = time(NULL),
	};
	bool ok;

	any.accounts = UINT64_MAX;
	ok = update_hold_audit(&any, &accounts, &h, &r) &&
	    !update_hold_keeps(&any, &h, list,
		"the list with the confirmed keys", true);
	audit_refused_free(&h);
	accounts_free(&accounts);
	return ok;
}

bool
confirm_brake_allows(struct list_batch *batch, const char *list,
    const char *config, const struct update_hold *hold)
{
	struct fresh f = { .list = list,
		.fd = memfd_create("confirmed", MFD_CLOEXEC) };
	const struct kv_paths paths = { .blocklist = &list, .n_blocklists = 1 };
	struct kv_judge known, judge;
	bool ok;

	list_batch_sort(batch);
	if (f.fd == -1 ||
	    !io_write(f.fd, batch->record, batch->n * sizeof(list_record))) {
		if (f.fd != -1)
			close(f.fd);
		return cli_failed(list, "cannot be compared with the accounts");
	}
	kv_judge_open_with(&known, config, NULL, cli_open_as_login, NULL);
	kv_judge_open_with(&judge, config, &paths, open_fresh, &f);
	ok = hold->never || judge.config.on_hit != KV_ACTION_DENY ||
	    is_harmless(&known, &judge, list, hold);
	kv_judge_close(&judge);
	kv_judge_close(&known);
	close(f.fd);
	return ok;
}
