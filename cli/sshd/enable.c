/* SPDX-License-Identifier: ISC */
/*
 * keyveto enable: rehearses, saves the files, writes keyveto's lines, has
 * sshd check the result, and restores the files if sshd refuses it.
 */
#include <string.h>
#include <time.h>

#include "logs/login_logs.h"
#include "sshd/reasons.h"
#include "sshd/matches.h"
#include "sshd/plan.h"
#include "sshd/result.h"
#include "sshd/state.h"
#include "sshd/usable.h"
#include "sshd_config/block.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

/* The journal may take this long. Its newest entries are read first. */
#define JOURNAL_SECONDS 10

/*
 * Sets plan->guard and plan->pam: both without --guard and --pam. A part that
 * is on stays on. sshd_plan_make may leave out one of them.
 */
static void
choose_parts(const struct sshd_options *o, const struct sshd_files *files,
    bool use_pam, struct sshd_plan *plan)
{
	plan->guard = o->guard || !o->pam ||
	    sshd_files_have_lines(files, SSHD_FILE_SSHDS);
	plan->pam = o->pam || !o->guard ||
	    sshd_files_have_lines(files, SSHD_FILE_PAMS);
	if (plan->pam && !o->pam && !use_pam) {
		cli_error("note: UsePAM is no: sshd asks no PAM module, so "
			  "that only the guard is put in");
		plan->pam = false;
	}
}

/*
 * Notes an OnHit or OnProbable line that is not keyveto's own, by which listed
 * keys will be let in.
 */
static void
note_warn_lines(const struct sshd_file *f, struct sshd_plan *plan)
{
	char why[KV_CONFIG_WHY_BYTES];
	struct kv_config config;
	bool ok, hit;

	ok = kv_config_parse(f->base, f->base_len, f->path, &config, why) ==
	    KV_OK;
	hit = config.on_hit != KV_ACTION_DENY;
	if (ok && (hit || config.on_probable != KV_ACTION_DENY))
		plan->lets_in = !cli_error(
		    "note: %s says %s are let in, and logged; keyveto "
		    "config edit changes it",
		    f->path,
		    hit ? "OnHit warn: listed keys" :
			  "OnProbable warn: probably listed keys");
	kv_config_free(&config);
}

/*
 * Notes the ways in that neither the guard nor the module judges by sshd's
 * next settings.
 */
static void
note_unguarded(struct sshd_plan *plan, const struct sshd_settings *next)
{
	const struct ways_context context = { .pam = plan->module };
	const bool may_add = *plan->pam_unfit == '\0' && next->use_pam;
	struct ways w;

	ways_read(next, &context, &w);
	for (enum way way = 0; way < WAYS; way++)
		if (!ways_is_guarded(&w, way))
			plan->lets_in = !cli_error(
			    "note: %s: neither the guard nor the module "
			    "will judge the keys on this way in%s",
			    ways_name(way), may_add ? "; add --pam" : "");
}

/* Has sshd check the planned lines. Notes what will let in listed keys. */
static bool
check_plan(const struct sshd_options *o, const struct sshd_files *files,
    const struct sshd_settings *base, struct sshd_plan *plan)
{
	struct sshd_settings *next;
	char why[SSHD_WHY_BYTES];
	bool holds;

	if (!sshd_copy_is_valid(o->sshd, &plan->next, why, sizeof(why)))
		return cli_error("%s; nothing was changed", why);
	if ((next = sshd_ask_settings(o, &plan->next, NULL)) == NULL)
		return false;
	holds = sshd_plan_holds(plan, base, next);
	if (holds) {
		note_unguarded(plan, next);
		if (!o->warn)
			note_warn_lines(sshd_files_find(files, KV_CONFIG_PATH),
			    plan);
		if (plan->guard)
			sshd_matches_note_bypasses(&plan->next.tree);
	}
	sshd_settings_free(next);
	return holds;
}

/*
 * Whether sshd takes keys from the same places by the plan as now, if the plan
 * leaves out some of keyveto's lines that are there: because the guard is there
 * by somebody else's line, or a Match block does not need them any more. False
 * after a message.
 */
static bool
keeps_sources(const struct sshd_options *o, const struct sshd_files *files,
    struct sshd_copy *now, struct sshd_plan *plan)
{
	if (!sshd_files_have_lines(files, SSHD_FILE_SSHDS) ||
	    (!plan->foreign_guard &&
		!sshd_sources_leaves_match(&now->tree, &plan->next.tree)))
		return true;
	switch (
	    sshd_sources_compare(o, now, &plan->next, plan->foreign_guard)) {
	case SSHD_SOURCES_SAME:
		return true;
	case SSHD_SOURCES_OTHER:
		sshd_sources_advise(files,
		    "So that keyveto leaves its lines as they are", "");
		return false;
	default:
		return false;
	}
}

/* Prints when the listed keys last came in: who uses them must be told. */
static void
print_logins(const struct sshd_options *o, struct logins *l)
{
	char since[LOGINS_TIME_BYTES];
	bool whole;

	if (l->n == 0)
		return;
	whole = login_logs_read_newest(l, JOURNAL_SECONDS);
	if (l->failed || l->since == 0)
		return;
	(void)logins_print(l, o->json);
	logins_format_time(l->since, since);
	cli_error("logins: by the journal since %s%s", since,
	    whole ? "" : "; not all of it could be read in time");
}

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

/*
 * Audits the accounts by copy and the base of keyveto.conf, both without
 * keyveto's lines, and prints who would be refused; with --json only the keys.
 * Returns 0 to go on, or the exit status after a message. *stopsp tells whether
 * it would be SSHD_NOT_DONE without --warn, --yes and --dry-run. Always call
 * audit_refused_free for h, which names accounts of the list.
 */
static int
rehearse(const struct sshd_options *o, const struct sshd_copy *copy,
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
	if (!sshd_usable_open(KV_CONFIG_PATH,
		&(struct sshd_text){ config->base, config->base_len },
		&judging))
		return CLI_UNCHECKED;
	judging_report(&r, &judging.judge);
	ok = audit_refused_find(h, &sshd, accounts, NULL,
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
	if (r.problems > h->keyless)
		cli_error("not everything could be judged: there may be more "
			  "listed keys");
	for (size_t i = 0; i < h->unasked.n; i++)
		cli_error("%s; so nobody can know beforehand which of the "
			  "keys it prints would be refused",
		    h->unasked.v[i]);
	*stopsp = h->n > 0 || h->refused_cas > 0 || r.problems > h->keyless ||
	    h->unasked.n > 0;
	if (!*stopsp || o->warn || o->yes || o->dry_run)
		return 0;
	cli_error(strstr(config->now, "\nOnHit warn\n") != NULL ?
		"nothing was changed, and listed keys are still let in (OnHit warn): have those keys replaced first, or go on with --yes" :
		"nothing was changed: have those keys replaced first, let everybody in for now with --warn, or go on with --yes");
	return SSHD_NOT_DONE;
}

/*
 * Runs the guard and the module with the planned keyveto.conf, and compares the
 * keys that sshd gets for each account. False after a message.
 */
static bool
try_programs(const struct sshd_options *o, const struct sshd_files *files,
    struct sshd_copy *base, struct sshd_plan *plan,
    const struct accounts *accounts)
{
	const struct sshd_file *f = sshd_files_find(files, KV_CONFIG_PATH);
	struct sshd_tryout t;
	bool ok;

	ok = sshd_tryout_open(&t, o, f, !plan->no_verdict) &&
	    (!plan->pam || sshd_tryout_module(&t)) &&
	    (!plan->guard ||
		sshd_same_keys(o, &t, base, &plan->next, accounts));
	sshd_tryout_close(&t);
	return ok;
}

static void
print_plan(const struct sshd_files *fs)
{
	for (size_t i = 0; i < fs->n; i++) {
		const struct sshd_file *f = fs->v[i];
		const char *line = f->next;
		bool ours = false;

		if (f->next == NULL)
			continue;
		printf("%s:\n", f->path);
		while (*line != '\0') {
			size_t n = strcspn(line, "\n");

			ours |= strncmp(line, SSHD_BLOCK_BEGIN,
				    strlen(SSHD_BLOCK_BEGIN)) == 0;
			if (ours) {
				fputs("  ", stdout);
				cli_print_safe(stdout, line, n);
				putchar('\n');
			}
			if (strncmp(line, SSHD_BLOCK_END,
				strlen(SSHD_BLOCK_END)) == 0)
				ours = false;
			line += n + (line[n] == '\n');
		}
	}
}

/*
 * Writes keyveto.conf first, since the guard reads it; then PAM's files; then
 * sshd's, which sshd reads when it is reloaded. Where next is NULL writes base,
 * which removes the lines of an earlier run.
 */
static bool
write_files(struct sshd_files *fs)
{
	bool ok = true;

	for (int whose = SSHD_FILE_KEYVETOS; whose <= SSHD_FILE_SSHDS; whose++)
		for (size_t i = 0; ok && i < fs->n; i++) {
			struct sshd_file *f = fs->v[i];

			if ((int)f->whose != whose)
				continue;
			ok = f->next != NULL ?
			    sshd_file_write(f, f->next, f->next_len) :
			    sshd_file_write(f, f->base, f->base_len);
		}
	return ok;
}

/* Checks sshd's files as they are now. False after a message. */
static bool
check_sshds_files(const struct sshd_options *o, const struct sshd_tree *next)
{
	char why[SSHD_WHY_BYTES];
	struct sshd_copy c;
	bool ok;

	ok = sshd_open_copy(&c, NULL, false) && sshd_faithful_copy(o, &c);
	if (ok && !sshd_copy_is_valid(o->sshd, &c, why, sizeof(why))) {
		cli_error("%s", why);
		ok = false;
	}
	/* Another program may have changed a file that enable only reads. */
	if (ok && !sshd_tree_equals(&c.tree, next)) {
		cli_error(SSHD_TREE_TOP
		    ", or a file that it includes, was changed meanwhile; run "
		    "this again");
		ok = false;
	}
	sshd_copy_close(&c);
	return ok;
}

/* Checks that the module is first in PAM's stack. False after a message. */
static bool
check_pams_files(const char *service)
{
	char why[SSHD_WHY_BYTES];
	struct pam_stack stack;
	bool first = false;

	if (!pam_stack_read(service, &stack, why, sizeof(why)))
		cli_error("%s", why);
	else {
		(void)ways_find_module(&stack, &first);
		if (!first)
			cli_error(SSHD_PAM_DIR
			    "%s: pam_keyveto.so is not its first session line",
			    service);
	}
	pam_stack_free(&stack);
	return first;
}

/*
 * Restores all files that were written: first sshd's, which call the guard,
 * then the others, which the guard and PAM read.
 */
static void
restore_files(struct sshd_files *fs, const struct sshd_state *kept)
{
	bool ok = true;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < fs->n; i++) {
			struct sshd_file *f = fs->v[i];

			if ((f->whose == SSHD_FILE_SSHDS) == (turn == 0))
				ok &= sshd_file_put_back(f);
		}
	if (ok)
		ok = kept->found ? sshd_state_save(fs, true) :
				   sshd_state_remove();
	if (ok)
		cli_forget_changes();
	cli_error(ok ?
		"everything was put back as it was" :
		"not everything could be put back: keep this session open, and "
		"copy the files from " SSHD_STATE_DIR " by hand");
}

/*
 * Saves the files, writes them, and checks the result. Restores them if it is
 * not good. False after a message.
 */
static bool
change_files(const struct sshd_options *o, struct sshd_files *files,
    const struct sshd_state *kept, const struct sshd_plan *plan,
    const char *service, const struct accounts *accounts)
{
	if (!sshd_state_save(files, false))
		return false;
	if (write_files(files) && check_sshds_files(o, &plan->next.tree) &&
	    sshd_plan_reads_config(plan, files, accounts) &&
	    (!plan->module || check_pams_files(service)))
		return true;
	restore_files(files, kept);
	return false;
}

static void
print_result(const struct sshd_options *o, const struct sshd_files *files,
    const struct sshd_plan *plan, const struct sshd_file *pam, bool reloaded)
{
	const char *when = plan->module || !plan->guard || reloaded ?
	    "from the next login on" :
	    "once sshd is reloaded";

	if (plan->guard && sshd_files_find(files, plan->place)->found != NULL)
		printf("guard: lines put into %s\n", plan->place);
	if (plan->pam && pam->found != NULL)
		printf("PAM: a line put into %s\n", pam->path);
	if (plan->pam_alone)
		puts(
		    "the PAM module does the work alone: sshd accepts a listed "
		    "key, then the module ends the connection before anything "
		    "runs");
	if (o->warn && !plan->no_verdict)
		printf("listed keys are logged %s, and refused by: keyveto "
		       "enable\n",
		    when);
	else if (!o->warn && !plan->lets_in)
		printf("listed keys are refused %s\n", when);
	if (reloaded)
		puts("sshd uses these lines now; keep this session open, and "
		     "log in a second time to see that it works");
	else if (plan->guard)
		puts("sshd uses these lines once it is reloaded (systemctl "
		     "reload ssh); keep this session open until a second "
		     "login has worked");
}

/*
 * Sets *emergencyp: logins get no verdict now. With --warn where keyveto's lines
 * are in already, that stops nothing: it is how everybody gets in again. False,
 * after a message, if the lines would not count in keyveto.conf.
 */
static bool
find_emergency(const struct sshd_options *o, const struct sshd_files *files,
    bool *emergencyp)
{
	struct sshd_file *f = sshd_files_find(files, KV_CONFIG_PATH);
	char why[SSHD_WHY_BYTES], distrust[KV_TRUSTED_WHY_BYTES];
	enum kv_err err;

	*emergencyp = o->warn &&
	    (sshd_files_have_lines(files, SSHD_FILE_SSHDS) ||
		sshd_files_have_lines(files, SSHD_FILE_PAMS)) &&
	    !sshd_usable_verdict(KV_CONFIG_PATH, why);
	if (!*emergencyp)
		return true;
	err = kv_trusted_check(f->path, 0, distrust);
	if (err == KV_ERR_INSECURE || (f->there && err != KV_OK))
		return cli_error(
		    "%s: logins do not go by that file, and refuse "
		    "every key: chown root and chmod go-w it and "
		    "each folder above it, and run this again",
		    distrust);
	cli_error("note: %s: until that is corrected, no key gets a verdict, "
		  "and everybody gets in; nothing is rehearsed",
	    why);
	if (f->too_large) {
		f->base[0] = '\0';
		f->base_len = 0;
	}
	return true;
}

static int
enable(const struct sshd_options *o, struct sshd_copy *now,
    struct sshd_files *files, const struct sshd_state *kept)
{
	struct sshd_result result = { .what = "enable", .dry_run = o->dry_run };
	struct audit_refused refused = { 0 };
	struct accounts accounts = { 0 };
	struct sshd_plan plan = { 0 };
	struct sshd_base base = { 0 };
	const char *service;
	int status = CLI_UNCHECKED;

	if (!sshd_faithful_copy(o, now) ||
	    !sshd_base_read(&base, o, files, true) ||
	    !sshd_base_keeps_keys(&base, o, now))
		goto out;
	if (!sshd_find_accounts(&accounts))
		goto out;
	service = sshd_service(base.settings);
	choose_parts(o, files, base.settings->use_pam, &plan);
	if (!find_emergency(o, files, &plan.no_verdict) ||
	    !sshd_plan_make(&plan, o, &base, files, &accounts) ||
	    !check_plan(o, files, base.settings, &plan) ||
	    !keeps_sources(o, files, now, &plan) ||
	    !sshd_started_allows(files, base.dump, base.settings) ||
	    (o->warn &&
		!sshd_foreign_lines_allow_warn(files, &now->tree, service)))
		goto out;
	result.planned = true;
	/* In an emergency nothing is rehearsed. */
	result.refused = plan.no_verdict ? NULL : &refused;
	status = plan.no_verdict ?
	    0 :
	    rehearse(o, &base.copy, files, &accounts, &refused, &result.stops);
	if (status != 0)
		goto out;
	status = CLI_UNCHECKED;
	if (!try_programs(o, files, &base.copy, &plan, &accounts) ||
	    (!o->dry_run &&
		!change_files(o, files, kept, &plan, service, &accounts)))
		goto out;
	if (!o->dry_run && o->reload)
		result.reloaded = sshd_reload(base.dump);
	if (o->dry_run && !o->json)
		print_plan(files);
	else if (!o->json)
		print_result(o, files, &plan, base.pam, result.reloaded);
	if (cli_stdout_ok() && (o->dry_run || result.reloaded == o->reload))
		status = 0;
out:
	result.guard = plan.guard;
	result.pam = plan.pam;
	if (o->json && !sshd_result_print(&result, files, status))
		status = CLI_UNCHECKED;
	audit_refused_free(&refused);
	accounts_free(&accounts);
	sshd_copy_close(&plan.next);
	sshd_base_close(&base);
	return status;
}

static int
run_enable(const struct cli_command *cmd, int argc, char **argv)
{
	return sshd_change(cmd, argc, argv, true, enable);
}

const struct cli_command cli_enable = {
	.name = "enable",
	.section = 8,
	.synopsis = "[--guard] [--pam] [--warn] [--yes] [--dry-run] [--json] "
		    "[--reload] [--sshd PATH] [--timeout S]",
	.help = "Rehearse, then put keyveto into sshd and PAM",
	.details =
	    "  --guard          the guard, as AuthorizedKeysCommand\n"
	    "  --pam            the PAM module, as the first session line\n"
	    "  --warn           only log for now: refuse no key\n"
	    "  --yes            go on although somebody will, or may, be "
	    "refused\n"
	    "  --dry-run        print the lines, and change nothing\n"
	    "  --json           print listed keys and what changes as JSON\n"
	    "  --reload         reload sshd in the end\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --timeout S      seconds that an account's files may take "
	    "(default 30)\n",
	.run = run_enable,
};
