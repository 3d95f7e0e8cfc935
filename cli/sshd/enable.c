/* SPDX-License-Identifier: ISC */
/*
 * keyveto sshd enable: rehearses, saves the files, writes keyveto's lines, has
 * sshd check the result, and restores the files if sshd refuses it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sshd/foreign_lines.h"
#include "sshd/plan.h"
#include "sshd/rehearse.h"
#include "sshd/same_keys.h"
#include "sshd/started.h"
#include "sshd/told.h"
#include "sshd/usable.h"
#include "sshd_config/block.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

struct enabling {
	struct sshd_setup *p;
	struct sshd_copy next; /* the configuration with keyveto's lines */
	struct accounts accounts;
	struct sshd_plan plan;
	struct audit_refused refused; /* names those accounts */
	struct sshd_told told;
	bool pam; /* the module will be on, by whoever's line */
};

/*
 * Asks sshd about its settings without keyveto's lines, and reads the list of
 * accounts. Sets plan.guard and plan.pam: both without --guard and --pam. A
 * part that is on stays on. sshd_plan_make may leave out one of them. False
 * after a message.
 */
static bool
read_setup(struct enabling *e)
{
	struct sshd_setup *p = e->p;
	const struct sshd_options *o = p->o;
	char why[SSHD_WHY_BYTES];

	if (!sshd_faithful_copy(o, &p->now) ||
	    !sshd_setup_ask(p, why, sizeof(why)))
		return false;
	if (p->dump == NULL) {
		cli_error("%s", why);
		return false;
	}
	if (!sshd_setup_keeps_keys(p))
		return false;
	(void)sshd_plan_tell_groups(o, &p->base.tree);
	if (!sshd_find_accounts(o, &e->accounts))
		return false;
	e->plan.guard = o->guard || !o->pam ||
	    sshd_setup_has_lines(p, SSHD_FILE_SSHDS);
	e->pam = o->pam || !o->guard || sshd_setup_has_lines(p, SSHD_FILE_PAMS);
	if (e->pam && !o->pam && !p->settings->use_pam) {
		cli_error("note: UsePAM is no: sshd asks no PAM module, so "
			  "that only the guard is put in");
		e->pam = false;
	}
	e->plan.pam = e->pam;
	return true;
}

/*
 * Notes what will let in listed keys: ways in that neither the guard nor the
 * module judges by sshd's next settings, lines in Match blocks, and an OnHit
 * line that is not keyveto's own.
 */
static void
note_weaknesses(const struct enabling *e, const struct sshd_settings *next)
{
	const struct ways_context context = { .pam = e->pam };
	const struct sshd_options *o = e->p->o;
	const struct sshd_file *f = sshd_files_find(&e->p->files,
	    KV_CONFIG_PATH);
	const bool may_add = *e->plan.pam_unfit == '\0' && next->use_pam;
	char why[KV_CONFIG_WHY_BYTES];
	struct kv_config config;
	struct ways w;

	ways_read(next, &context, &w);
	for (enum way way = 0; way < WAYS; way++)
		if (!ways_is_guarded(&w, way))
			cli_error("note: %s: neither the guard nor the module "
				  "will judge the keys on this way in%s",
			    ways_name(way), may_add ? "; add --pam" : "");
	if (!o->warn) {
		if (kv_config_parse(f->base, f->base_len, f->path, &config,
			why) == KV_OK &&
		    (config.on_hit != KV_ACTION_DENY ||
			config.on_probable != KV_ACTION_DENY))
			cli_error("note: %s%s says %s warn: %slisted keys are "
				  "let in, and logged; keyveto config edit "
				  "changes it",
			    o->root, f->path,
			    config.on_hit != KV_ACTION_DENY ? "OnHit" :
							      "OnProbable",
			    config.on_hit != KV_ACTION_DENY ? "" : "probably ");
		kv_config_free(&config);
	}
	if (e->plan.guard)
		sshd_plan_tell_matches(o->root, &e->next.tree);
}

/* Plans keyveto's lines, and has sshd check a copy with them. */
static bool
plan_lines(struct enabling *e)
{
	const struct sshd_options *o = e->p->o;
	struct sshd_settings *next;
	char why[SSHD_WHY_BYTES], *dump;
	bool holds;

	if (!sshd_plan_make(e->p, &e->accounts, &e->plan) ||
	    !sshd_open_copy(o, &e->next, &e->p->files, true))
		return false;
	if (*e->plan.pam_unfit != '\0')
		e->pam = false;
	if (!sshd_copy_is_valid(o->sshd, &e->next, *o->root != '\0', why,
		sizeof(why))) {
		cli_error("%s; nothing was changed", why);
		return false;
	}
	if ((dump = sshd_ask_copy(o, &e->next, NULL)) == NULL)
		return false;
	next = sshd_settings_parse(dump);
	free(dump);
	if (next == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	holds = sshd_plan_holds(&e->plan, &e->next.tree, e->p->settings, next);
	if (holds)
		note_weaknesses(e, next);
	sshd_settings_free(next);
	return holds;
}

/*
 * Runs the guard and the module with the planned keyveto.conf, and compares the
 * keys that sshd gets for each account. Below another root runs nothing: those
 * programs belong to another machine. False after a message.
 */
static bool
try_programs(struct enabling *e)
{
	const struct sshd_options *o = e->p->o;
	const struct sshd_file *f = sshd_files_find(&e->p->files,
	    KV_CONFIG_PATH);
	struct sshd_tryout t;
	struct sshd_same_keys same = {
		.o = o,
		.base = &e->p->base,
		.next = &e->next,
		.accounts = &e->accounts,
		.tryout = &t,
	};
	bool ok;

	if (*o->root != '\0')
		return true;
	ok = sshd_tryout_open(&t, o, f->next != NULL ? f->next : f->base,
		 f->next != NULL ? f->next_len : f->base_len) &&
	    (!e->plan.pam || sshd_tryout_module(&t)) &&
	    (!e->plan.guard || sshd_same_keys(&same));
	sshd_tryout_close(&t);
	return ok;
}

static void
print_plan(const struct enabling *e)
{
	const struct sshd_files *fs = &e->p->files;

	for (size_t i = 0; i < fs->n; i++) {
		const struct sshd_file *f = fs->v[i];
		const char *line = f->next;
		bool ours = false;

		if (f->next == NULL)
			continue;
		printf("%s%s:\n", fs->root, f->path);
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
write_files(struct enabling *e)
{
	struct sshd_files *fs = &e->p->files;
	bool ok = true;

	for (int whose = SSHD_FILE_KEYVETOS; whose <= SSHD_FILE_SSHDS; whose++)
		for (size_t i = 0; ok && i < fs->n; i++) {
			struct sshd_file *f = fs->v[i];

			if ((int)f->whose != whose)
				continue;
			ok = f->next != NULL ?
			    sshd_file_write(fs, f, f->next, f->next_len) :
			    sshd_file_write(fs, f, f->base, f->base_len);
		}
	return ok;
}

/* Checks the files that write_files has written. False after a message. */
static bool
check_files(struct enabling *e)
{
	const struct sshd_options *o = e->p->o;
	struct pam_stack stack = { 0 };
	char why[SSHD_WHY_BYTES];
	struct sshd_copy c;
	bool ok, first = false;

	ok = sshd_open_copy(o, &c, NULL, false) && sshd_faithful_copy(o, &c);
	if (ok &&
	    !sshd_copy_is_valid(o->sshd, &c, *o->root != '\0', why,
		sizeof(why))) {
		cli_error("%s", why);
		ok = false;
	}
	/* Another program may have changed a file that enable only reads. */
	if (ok && !sshd_tree_equals(&c.tree, &e->next.tree)) {
		cli_error("%s" SSHD_TREE_TOP ", or a file that it includes, "
			  "was changed meanwhile; run this again",
		    o->root);
		ok = false;
	}
	sshd_copy_close(&c);
	ok = ok && sshd_usable_filters(o, KV_CONFIG_PATH, "", &e->accounts);
	if (!ok || !e->pam)
		return ok;
	if (!pam_stack_read(o->root, e->p->service, &stack, why, sizeof(why))) {
		cli_error("%s", why);
		ok = false;
	}
	if (ok)
		(void)ways_find_module(&stack, &first);
	if (ok && !first) {
		cli_error("%s" SSHD_PAM_DIR "%s: pam_keyveto.so is not its "
			  "first session line",
		    o->root, e->p->service);
		ok = false;
	}
	pam_stack_free(&stack);
	return ok;
}

/*
 * Restores all files that were written: first sshd's, which call the guard,
 * then the others, which the guard and PAM read.
 */
static void
restore_files(struct enabling *e)
{
	struct sshd_files *fs = &e->p->files;
	const char *root = e->p->o->root;
	bool ok = true;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < fs->n; i++) {
			struct sshd_file *f = fs->v[i];

			if (f->found != NULL &&
			    (f->whose == SSHD_FILE_SSHDS) == (turn == 0))
				ok &= sshd_file_write(fs, f, f->found,
				    f->found_len);
		}
	if (ok)
		ok = e->p->state.found ? sshd_state_save(fs, true) :
					 sshd_state_remove(root);
	cli_error(ok ?
		"everything was put back as it was" :
		"not everything could be put back: keep this session open, and "
		"copy the files from %s" SSHD_STATE_DIR " by hand",
	    root);
}

static void
print_result(const struct enabling *e, bool reloaded)
{
	const struct sshd_options *o = e->p->o;

	if (e->plan.guard)
		printf("guard: lines put into %s%s\n", o->root, e->plan.place);
	if (e->plan.pam)
		printf("PAM: a line put into %s/etc/pam.d/%s; it counts from "
		       "the next login on\n",
		    o->root, e->p->service);
	if (e->plan.pam_alone)
		puts(
		    "the PAM module does the work alone: sshd accepts a listed "
		    "key, then the module ends the connection before anything "
		    "runs");
	if (o->warn)
		puts("listed keys are let in and logged (OnHit warn): run this "
		     "again without --warn to refuse them");
	if (reloaded)
		puts("sshd uses these lines now; keep this session open, and "
		     "log in a second time to see that it works");
	else if (e->plan.guard && *o->root == '\0')
		puts("sshd uses these lines once it is reloaded (systemctl "
		     "reload ssh); keep this session open until a second "
		     "login has worked");
}

static int
enable_all(struct enabling *e)
{
	const struct sshd_options *o = e->p->o;
	bool reloaded;
	int status;

	if (!read_setup(e) || !plan_lines(e) || !sshd_started_allows(o, e->p) ||
	    (o->warn && !sshd_foreign_lines_allow_warn(o, e->p)))
		return CLI_UNCHECKED;
	e->told.planned = true;
	e->told.refused = &e->refused;
	status = sshd_rehearse(e->p, &e->accounts, &e->refused, &e->told.stops);
	if (status != 0)
		return status;
	if (!try_programs(e))
		return CLI_UNCHECKED;
	if (o->dry_run) {
		if (!o->json)
			print_plan(e);
		return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	if (!sshd_state_save(&e->p->files, false))
		return CLI_UNCHECKED;
	if (!write_files(e) || !check_files(e)) {
		restore_files(e);
		return CLI_UNCHECKED;
	}
	reloaded = o->reload && sshd_reload(e->p->dump);
	e->told.reloaded = reloaded;
	if (!o->json)
		print_result(e, reloaded);
	return cli_stdout_ok() && reloaded == o->reload ? 0 : CLI_UNCHECKED;
}

static int
enable(struct sshd_setup *p)
{
	struct enabling e = { .p = p, .told.what = "enable" };
	int status = enable_all(&e);

	e.told.guard = e.plan.guard;
	e.told.pam = e.plan.pam;
	if (p->o->json && !sshd_told_print(p, &e.told, status))
		status = CLI_UNCHECKED;
	audit_refused_free(&e.refused);
	accounts_free(&e.accounts);
	sshd_copy_close(&e.next);
	return status;
}

static int
run_enable(const struct cli_command *cmd, int argc, char **argv)
{
	return sshd_setup_change(cmd, argc, argv, true, enable);
}

const struct cli_command sshd_enable = {
	.name = "sshd enable",
	.synopsis = "[--guard] [--pam] [--warn] [--yes] [--dry-run] [--json] "
		    "[--reload] [--root DIR] [--sshd PATH] [--timeout S]",
	.help = "Rehearse, then put keyveto into sshd and PAM",
	.details =
	    "As root. Audits every account first, and changes nothing if "
	    "somebody would be\nrefused, or could not be judged. Runs the "
	    "guard and the module before it writes a\nfile, and compares the "
	    "keys that sshd gets for each account. keyveto's lines stand\n"
	    "between marks. If sshd -t refuses them, all files are put back. "
	    "'keyveto sshd\ndisable' removes the lines.\n\n"
	    "Without --guard and --pam: both, if the guard changes nothing "
	    "but who is refused;\notherwise the module alone, which then ends "
	    "the connection of a listed key.\n\n"
	    "  --guard          the guard, as AuthorizedKeysCommand\n"
	    "  --pam            the PAM module, as the first session line\n"
	    "  --warn           only log for now: refuse no key\n"
	    "  --yes            go on although somebody will, or may, be "
	    "refused\n"
	    "  --dry-run        print the lines, and change nothing\n"
	    "  --json           print listed keys and what changes as JSON\n"
	    "  --reload         reload sshd in the end\n"
	    "  --root DIR       the machine whose file system is below DIR, "
	    "not this one\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --timeout S      seconds that an account's files may take "
	    "(default 30)\n"
	    "\nExit status: 0 done, 1 not done because somebody would, or "
	    "may, be refused,\n2 not done.\n",
	.run = run_enable,
};
