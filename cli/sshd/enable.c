/* SPDX-License-Identifier: ISC */
/*
 * keyveto sshd enable: rehearses, saves the files, writes keyveto's lines, has
 * sshd check the result, and restores the files if sshd refuses it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sshd/faithful.h"
#include "sshd/plan.h"
#include "sshd/rehearse.h"
#include "sshd/reload.h"
#include "sshd/same_keys.h"
#include "sshd/started.h"
#include "sshd/usable.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

struct enabling {
	const struct sshd_options *o;
	struct sshd_setup *p;
	struct sshd_copy next; /* the configuration with keyveto's lines */
	char *next_dump;       /* "sshd -T" about next */
	struct accounts accounts;
	struct sshd_plan plan;
	bool pam; /* the module will be on, by whoever's line */
};

/*
 * Asks sshd about its settings without keyveto's lines, and reads the list of
 * accounts. False after a message.
 */
static bool
read_setup(struct enabling *e)
{
	const struct sshd_options *o = e->o;
	char why[SSHD_WHY_BYTES];

	if (!sshd_faithful_copy(o, &e->p->now) ||
	    !sshd_setup_ask(o, e->p, why, sizeof(why)))
		return false;
	if (e->p->dump == NULL) {
		cli_error("%s", why);
		return false;
	}
	if (!sshd_setup_keeps_keys(o, e->p))
		return false;
	(void)sshd_plan_tell_groups(o, &e->p->base.tree);
	return sshd_find_accounts(o, &e->accounts);
}

/*
 * Sets plan.guard and plan.pam: both without --guard and --pam. A part that is
 * on stays on. sshd_plan_make may leave out one of them.
 */
static void
choose_parts(struct enabling *e)
{
	const struct sshd_options *o = e->o;

	e->plan.guard = o->guard || !o->pam || sshd_setup_has_lines(e->p, true);
	e->plan.pam = o->pam || !o->guard || sshd_setup_has_lines(e->p, false);
	if (e->plan.pam && !o->pam &&
	    !sshd_text_is(e->p->dump, "usepam", "yes")) {
		cli_error("note: UsePAM is no: sshd asks no PAM module, so "
			  "that only the guard is put in");
		e->plan.pam = false;
	}
	e->pam = e->plan.pam;
}

static void
note_unguarded(const struct enabling *e)
{
	const struct ways_context context = { .pam = e->pam };
	struct sshd_settings *s = sshd_settings_parse(e->next_dump);
	struct ways w;

	if (s == NULL) {
		cli_error("%s", strerror(errno));
		return;
	}
	ways_read(s, &context, &w);
	for (enum way way = 0; way < WAYS; way++)
		if (!ways_is_guarded(&w, way))
			cli_error("note: %s: neither the guard nor the module "
				  "will judge the keys on this way in%s",
			    ways_name(way),
			    *e->plan.pam_unfit == '\0' && s->use_pam ?
				"; add --pam" :
				"");
	sshd_settings_free(s);
}

/* Notes an OnHit line, not keyveto's own, that lets listed keys in. */
static void
note_policy(const struct enabling *e)
{
	const struct sshd_file *f = sshd_files_find(&e->p->files,
	    KV_CONFIG_PATH);
	char why[KV_CONFIG_WHY_BYTES];
	struct kv_config config;

	if (e->o->warn)
		return;
	if (kv_config_parse(f->base, f->base_len, f->path, &config, why) ==
		KV_OK &&
	    config.on_hit != KV_ACTION_DENY)
		cli_error("note: %s%s says OnHit warn: listed keys are let in, "
			  "and logged; keyveto config edit changes it",
		    e->o->root, f->path);
	kv_config_free(&config);
}

/* Plans keyveto's lines, and has sshd check a copy with them. */
static bool
plan_lines(struct enabling *e)
{
	const struct sshd_options *o = e->o;
	char why[SSHD_WHY_BYTES];

	choose_parts(e);
	if (!sshd_plan_make(o, e->p, &e->accounts, &e->plan) ||
	    !sshd_open_changed(o, &e->p->files, true, &e->next))
		return false;
	if (*e->plan.pam_unfit != '\0')
		e->pam = false;
	if (!sshd_copy_is_valid(o->sshd, &e->next, *o->root != '\0', why,
		sizeof(why))) {
		cli_error("%s; nothing was changed", why);
		return false;
	}
	e->next_dump = sshd_ask_copy(o, &e->next, NULL);
	if (e->next_dump == NULL ||
	    !sshd_plan_holds(&e->plan, &e->next.tree, e->p->dump, e->next_dump))
		return false;
	note_unguarded(e);
	note_policy(e);
	if (e->plan.guard)
		sshd_plan_tell_matches(o->root, &e->next.tree);
	return true;
}

/*
 * Whether to go on if the plan makes sshd read the accounts' files after
 * TrustedUserCAKeys; prints what that means. ca_lines is the number of accounts
 * with a cert-authority line.
 */
static bool
order_is_accepted(const struct enabling *e, size_t ca_lines)
{
	if (!e->plan.changes_order)
		return true;
	cli_error(
	    "note: TrustedUserCAKeys is set. With the guard, sshd asks "
	    "the accounts' files after it: a certificate that both accept "
	    "loses the restrictions of its cert-authority line, a forced "
	    "command among them. --pam alone changes no order");
	if (ca_lines == 0 || e->o->yes)
		return true;
	cli_error("%zu account%s a cert-authority line in the files; nothing "
		  "was changed: use --pam, or go on with --yes",
	    ca_lines, ca_lines == 1 ? " has" : "s have");
	return false;
}

/*
 * Runs the guard and the module with the planned keyveto.conf, and compares the
 * keys that sshd gets for each account. Below another root runs nothing: those
 * programs belong to another machine. Returns 0 to go on, or the exit status.
 */
static int
try_programs(struct enabling *e)
{
	const struct sshd_file *f = sshd_files_find(&e->p->files,
	    KV_CONFIG_PATH);
	struct sshd_same_keys same = {
		.o = e->o,
		.base = &e->p->base,
		.next = &e->next,
		.accounts = &e->accounts,
	};
	struct sshd_tryout t;
	bool ok;

	if (*e->o->root != '\0')
		return order_is_accepted(e, 0) ? 0 : SSHD_NOT_DONE;
	ok = sshd_tryout_open(&t, e->o, f->next != NULL ? f->next : f->base,
	    f->next != NULL ? f->next_len : f->base_len);
	same.tryout = &t;
	ok = ok && (!e->plan.pam || sshd_tryout_module(&t)) &&
	    (!e->plan.guard || sshd_same_keys(&same));
	sshd_tryout_close(&t);
	if (!ok)
		return CLI_UNCHECKED;
	return order_is_accepted(e, same.ca_lines) ? 0 : SSHD_NOT_DONE;
}

/* Audits all accounts. Returns 0 to go on, or the exit status. */
static int
rehearse_logins(struct enabling *e)
{
	struct sshd_rehearsal found;

	if (!sshd_rehearse(e->o, &e->p->base, &found))
		return CLI_UNCHECKED;
	if (found.refused > 0)
		cli_error(
		    "%zu account%s with a listed key, %zu of them without "
		    "another",
		    found.refused, found.refused == 1 ? "" : "s",
		    found.locked_out);
	if (found.listed_cas > 0)
		cli_error("%zu listed CA%s in TrustedUserCAKeys: whoever comes "
			  "with such a certificate would be refused",
		    found.listed_cas, found.listed_cas == 1 ? "" : "s");
	if (found.unknown)
		cli_error("not everything could be judged: there may be more "
			  "listed keys");
	if ((found.refused == 0 && found.listed_cas == 0 && !found.unknown) ||
	    e->o->warn || e->o->yes || e->o->dry_run)
		return 0;
	cli_error("nothing was changed: have those keys replaced first, let "
		  "everybody in for now with --warn, or go on with --yes");
	return SSHD_NOT_DONE;
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

			ours |= strncmp(line, "# BEGIN keyveto", 15) == 0;
			if (ours) {
				fputs("  ", stdout);
				cli_print_safe(stdout, line, n);
				putchar('\n');
			}
			if (strncmp(line, "# END keyveto", 13) == 0)
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

	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < fs->n; i++) {
			struct sshd_file *f = fs->v[i];
			int its = 0;

			if (sshd_file_is_sshds(f))
				its = 2;
			else if (sshd_file_is_pams(f))
				its = 1;
			if (its != turn)
				continue;
			if (!(f->next != NULL ? sshd_file_write(fs, f, f->next,
						    f->next_len) :
						sshd_file_write(fs, f, f->base,
						    f->base_len)))
				return false;
		}
	}
	return true;
}

/* Checks the files that write_files has written. False after a message. */
static bool
check_files(struct enabling *e)
{
	const struct sshd_options *o = e->o;
	struct pam_stack stack = { 0 };
	char why[SSHD_WHY_BYTES];
	struct sshd_copy c;
	bool ok, first = false;

	ok = sshd_open_copy(o, &c, NULL, 0) && sshd_faithful_copy(o, &c);
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
	if (!pam_stack_read(o->root, e->plan.service, &stack, why,
		sizeof(why))) {
		cli_error("%s", why);
		ok = false;
	}
	if (ok)
		(void)ways_find_module(&stack, &first);
	if (ok && !first) {
		cli_error("%s" SSHD_PAM_DIR "%s: pam_keyveto.so is not its "
			  "first session line",
		    o->root, e->plan.service);
		ok = false;
	}
	pam_stack_free(&stack);
	return ok;
}

struct former {
	char *text;
	size_t len;
};

static struct former *
copy_texts(const struct sshd_files *fs)
{
	struct former *was = calloc(fs->n + 1, sizeof(*was));

	for (size_t i = 0; was != NULL && i < fs->n; i++) {
		was[i] = (struct former){ .len = fs->v[i]->now_len };
		was[i].text = malloc(was[i].len + 1);
		if (was[i].text == NULL) {
			while (i-- > 0)
				free(was[i].text);
			free(was);
			return NULL;
		}
		memcpy(was[i].text, fs->v[i]->now, was[i].len);
	}
	return was;
}

/*
 * Restores all files: first sshd's, which call the guard, then the others,
 * which the guard and PAM read. False after a message.
 */
static bool
restore_files(struct enabling *e, const struct former *was)
{
	struct sshd_files *fs = &e->p->files;
	bool ok = true;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < fs->n; i++)
			if (sshd_file_is_sshds(fs->v[i]) == (turn == 0))
				ok &= sshd_file_write(fs, fs->v[i], was[i].text,
				    was[i].len);
	if (ok)
		ok = e->p->state.found ? sshd_state_save(fs, true) :
					 sshd_state_remove(e->o->root);
	cli_error(ok ?
		"everything was put back as it was" :
		"not everything could be put back: keep this session open, and "
		"copy the files from %s" SSHD_STATE_DIR " by hand",
	    e->o->root);
	return ok;
}

static bool
change_files(struct enabling *e)
{
	struct former *was = copy_texts(&e->p->files);
	bool ok;

	if (was == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	ok = sshd_state_save(&e->p->files, false);
	if (ok && !(write_files(e) && check_files(e))) {
		restore_files(e, was);
		ok = false;
	}
	for (size_t i = 0; i < e->p->files.n; i++)
		free(was[i].text);
	free(was);
	return ok;
}

static void
print_result(const struct enabling *e, bool reloaded)
{
	const struct sshd_options *o = e->o;

	if (e->plan.guard)
		printf("guard: lines put into %s%s\n", o->root, e->plan.place);
	if (e->plan.pam)
		printf("PAM: a line put into %s/etc/pam.d/%s; it counts from "
		       "the next login on\n",
		    o->root, e->plan.service);
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
	const struct sshd_options *o = e->o;
	bool reloaded;
	int status;

	if (!read_setup(e) || !plan_lines(e) || !sshd_started_allows(o, e->p))
		return CLI_UNCHECKED;
	if ((status = rehearse_logins(e)) != 0 ||
	    (status = try_programs(e)) != 0)
		return status;
	if (o->dry_run) {
		print_plan(e);
		return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	if (!change_files(e))
		return CLI_UNCHECKED;
	reloaded = o->reload && sshd_reload(e->next_dump);
	print_result(e, reloaded);
	return cli_stdout_ok() && reloaded == o->reload ? 0 : CLI_UNCHECKED;
}

static int
enable(const struct sshd_options *o, struct sshd_setup *p)
{
	struct enabling e = { .o = o, .p = p };
	int status = enable_all(&e);

	free(e.next_dump);
	accounts_free(&e.accounts);
	sshd_copy_close(&e.next);
	return status;
}

static int
run_enable(const struct cli_command *cmd, int argc, char **argv)
{
	return sshd_setup_change(cmd, argc, argv, enable);
}

const struct cli_command sshd_enable = {
	.name = "sshd enable",
	.synopsis = "[--guard] [--pam] [--warn] [--yes] [--dry-run] "
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
	    "  --warn           only log for now: OnHit warn, OnError allow\n"
	    "  --yes            go on although somebody will, or may, be "
	    "refused\n"
	    "  --dry-run        print the lines, and change nothing\n"
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
