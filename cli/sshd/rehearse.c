/* SPDX-License-Identifier: ISC */
#include "sshd/rehearse.h"

#include <time.h>

#include "logs/login_logs.h"
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
	cli_error(whole ? "logins: by the journal since %s" :
			  "logins: by the journal since %s; not all of it "
			  "could be read in time",
	    since);
}

/* Prints how many listed keys and CAs of TrustedUserCAKeys there are. */
static void
print_counts(const struct audit_refused *h)
{
	const size_t let_in_cas = h->listed_cas > h->refused_cas ?
	    h->listed_cas - h->refused_cas :
	    0;

	if (h->n > 0)
		cli_error("%zu %s with a key that would be refused, %zu of "
			  "them with no other",
		    h->n, cli_plural(h->n, "account", "accounts"),
		    h->n_locked_out);
	if (h->by_certificate)
		cli_error("note: root or an administrator may come in by a "
			  "certificate: no file here names the key in it, so "
			  "that it is not judged beforehand");
	if (h->refused_cas > 0)
		cli_error("%zu listed %s in TrustedUserCAKeys: whoever comes "
			  "with such a certificate would be refused",
		    h->refused_cas, cli_plural(h->refused_cas, "CA", "CAs"));
	if (let_in_cas > 0)
		cli_error("note: %zu listed %s in TrustedUserCAKeys that "
			  "OnHit or OnProbable lets in",
		    let_in_cas, cli_plural(let_in_cas, "CA", "CAs"));
}

int
sshd_rehearse(const struct sshd_options *o, const struct sshd_copy *copy,
    const struct sshd_files *files, const struct accounts *accounts,
    struct audit_refused *h, bool *stopsp)
{
	const struct sshd sshd = {
		.path = o->sshd,
		.config = copy->top,
		.host_key = copy->host_key,
	};
	struct logins logins = { .all = false };
	const struct sshd_file *config = sshd_files_find(files, KV_CONFIG_PATH);
	const bool here = *o->root == '\0';
	struct judging judging;
	char why[WALL_WHY_BYTES];
	struct report r = {
		.json = o->json,
		.out = stdout,
		.err = stderr,
		.judged = logins_on_key,
		.judged_arg = &logins,
		.now = time(NULL),
	};
	bool ok;

	/* Keyveto's own lines, of an earlier --warn, refuse nobody. */
	if (!sshd_usable_open(o, KV_CONFIG_PATH,
		&(struct sshd_text){ config->base, config->base_len },
		&judging))
		return CLI_UNCHECKED;
	judging_report(&r, &judging.judge);
	ok = audit_refused_find(h, &sshd, accounts, o->root, NULL,
	    (unsigned int)o->timeout, &r);
	if (ok) {
		if (!o->json)
			audit_refused_print(h);
		report_summary(&r);
		print_logins(o, &logins);
		ok = cli_stdout_ok();
	}
	logins_free(&logins);
	if (!judging_close(&judging, why))
		ok = cli_error("%s", why);
	if (!ok)
		return CLI_UNCHECKED;
	print_counts(h);
	/* Problems with sshd's answers are counted for no account. */
	if (r.problems > 0)
		cli_error("not everything could be judged: there may be more "
			  "listed keys");
	for (size_t i = 0; i < h->n_unasked; i++)
		cli_error("%s%s; so nobody can know beforehand which of the "
			  "keys it prints would be refused",
		    here ? "" : "note: ", h->unasked[i]);
	/* Below another root no program is run, nor compared. */
	*stopsp = h->n > 0 || h->refused_cas > 0 || r.problems > 0 ||
	    (here && h->n_unasked > 0);
	if (!*stopsp || o->warn || o->yes || o->dry_run)
		return 0;
	/* keyveto.conf has lines of keyveto's after --warn alone. */
	if (sshd_files_have_lines(files, SSHD_FILE_KEYVETOS))
		cli_error("nothing was changed, and listed keys are still let "
			  "in (OnHit warn): have those keys replaced first, or "
			  "go on with --yes");
	else
		cli_error("nothing was changed: have those keys replaced "
			  "first, let everybody in for now with --warn, or go "
			  "on with --yes");
	return SSHD_NOT_DONE;
}
