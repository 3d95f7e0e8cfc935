/* SPDX-License-Identifier: ISC */
#include "sshd/rehearse.h"

#include <time.h>

#include "audit/login_logs.h"
#include "sshd/usable.h"

/* The journal may take this long. Its newest entries are read first. */
#define JOURNAL_SECONDS 10

/*
 * Prints when the listed keys last came in: who uses them must be told. The
 * journal of another machine cannot be asked.
 */
static void
print_logins(const struct sshd_options *o, struct logins *l)
{
	char since[LOGINS_TIME_BYTES];
	bool whole;

	if (*o->root != '\0' || l->n == 0)
		return;
	whole = login_logs_read_newest(l, JOURNAL_SECONDS);
	if (l->failed || l->since == 0)
		return;
	(void)logins_print(l, o->json);
	logins_format_time(l->since, since);
	cli_error("logins: by the journal since %s%s", since,
	    whole ? "" : "; not all of it could be read in time");
}

int
sshd_rehearse(const struct sshd_options *o, const struct sshd_copy *base,
    const struct accounts *accounts, struct audit_refused *h, bool *stopsp)
{
	const struct sshd sshd = {
		.path = o->sshd,
		.config = base->top,
		.host_key = base->host_key,
	};
	struct logins logins = { .all = false };
	struct kv_judge judge;
	struct report r = {
		.judge = &judge,
		.json = o->json,
		.out = stdout,
		.err = stderr,
		.judged = logins_on_key,
		.judged_arg = &logins,
		.now = time(NULL),
	};
	bool ok;

	if (!sshd_usable_open(o, KV_CONFIG_PATH, &judge))
		return CLI_UNCHECKED;
	ok = audit_refused_find(h, &sshd, accounts, o->root,
	    (unsigned int)o->timeout, &r);
	if (ok) {
		if (!o->json)
			audit_refused_print(h);
		report_summary(&r);
		print_logins(o, &logins);
		ok = cli_stdout_ok();
	}
	logins_free(&logins);
	kv_judge_close(&judge);
	if (!ok)
		return CLI_UNCHECKED;
	if (h->n > 0)
		cli_error("%zu account%s with a listed key, %zu of them "
			  "without another",
		    h->n, h->n == 1 ? "" : "s", h->n_locked_out);
	if (h->listed_cas > 0)
		cli_error("%zu listed CA%s in TrustedUserCAKeys: whoever comes "
			  "with such a certificate would be refused",
		    h->listed_cas, h->listed_cas == 1 ? "" : "s");
	/* Problems with sshd's answers are counted for no account. */
	if (r.problems > 0)
		cli_error("not everything could be judged: there may be more "
			  "listed keys");
	*stopsp = h->n > 0 || h->listed_cas > 0 || r.problems > 0;
	if (!*stopsp || o->warn || o->yes || o->dry_run)
		return 0;
	cli_error("nothing was changed: have those keys replaced first, let "
		  "everybody in for now with --warn, or go on with --yes");
	return SSHD_NOT_DONE;
}
