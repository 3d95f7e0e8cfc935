/* SPDX-License-Identifier: ISC */
/*
 * keyveto sshd enable: rehearses, keeps what is there, writes, has sshd judge
 * the result, and takes all of it back if that says no.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "pam_stack.h"
#include "sshd_command.h"
#include "sshd_plan.h"

struct enabling {
	const struct sshd_options *o;
	struct sshd_present p;
	struct sshd_tree base, next;
	char *base_dump, *next_dump;
	struct accounts accounts;
	struct sshd_plan plan;
	bool guard, pam;	/* what is on in the end */
};

/* What sshd says without keyveto's lines. False after a message. */
static bool
look(struct enabling *e)
{
	const struct sshd_options *o = e->o;

	if (!sshd_present_open(o, &e->p) ||
	    !sshd_copy_is_faithful(o, &e->p.now) ||
	    !sshd_open_changed(o, &e->p.files, false, &e->base) ||
	    (e->base_dump = sshd_ask_tree(o, &e->base, NULL)) == NULL ||
	    !sshd_find_accounts(o, &e->accounts))
		return false;
	(void)sshd_plan_tell_groups(o, &e->base);
	return true;
}

/* The lines, and what sshd makes of them before they are in place. */
static bool
plan(struct enabling *e)
{
	const struct sshd_options *o = e->o;
	char why[SSHD_WHY_BYTES];

	/* Without a word, both; what is on stays on. */
	e->guard = o->guard || !o->pam || e->p.state.guard;
	e->pam = o->pam || !o->guard || e->p.state.pam;
	if (e->pam && !o->pam && !sshd_dump_is(e->base_dump, "usepam", "yes")) {
		cli_error("note: UsePAM is no: sshd asks no PAM module, the "
		    "guard is all there can be");
		e->pam = false;
	}
	e->plan.guard = e->guard;
	e->plan.pam = e->pam;
	if (!sshd_plan_make(o, &e->p, &e->base, e->base_dump, &e->accounts,
	    &e->plan) || !sshd_open_changed(o, &e->p.files, true, &e->next))
		return false;
	if (!sshd_dump_valid(o->sshd, &e->next, *o->root != '\0', why,
	    sizeof(why))) {
		cli_error("%s; nothing was changed", why);
		return false;
	}
	e->next_dump = sshd_ask_tree(o, &e->next, NULL);
	if (e->next_dump == NULL || !sshd_plan_holds(&e->plan, &e->next,
	    e->base_dump, e->next_dump))
		return false;
	if (e->plan.guard)
		sshd_plan_tell_matches(o->root, &e->next);
	return true;
}

/* 0 to go on, or the exit status. */
static int
rehearse(struct enabling *e)
{
	struct sshd_rehearsal found;

	if (!sshd_rehearse(e->o, &e->base, &found))
		return CLI_UNCHECKED;
	if (found.refused > 0)
		cli_error("%zu account%s with a listed key, %zu of them without "
		    "another", found.refused, found.refused == 1 ? "" : "s",
		    found.locked_out);
	if (found.unknown > 0)
		cli_error("warning: of %zu account%s not everything could be "
		    "read", found.unknown, found.unknown == 1 ? "" : "s");
	if (found.refused == 0 || e->o->warn || e->o->yes || e->o->dry_run)
		return 0;
	cli_error("nothing was changed: see to those keys first, let them in "
	    "for now with --warn, or go on with --yes");
	return SSHD_NOT_DONE;
}

static void
print_plan(const struct enabling *e)
{
	const struct sshd_files *fs = &e->p.files;

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

static bool
is_sshds(const struct sshd_file *f)
{
	return strcmp(f->path, KV_CONFIG_PATH) != 0 &&
	    strncmp(f->path, "/etc/pam.d/", 11) != 0;
}

/*
 * keyveto.conf first, since the guard reads it, then PAM, then sshd's own
 * files, which count from a reload on. Where next is NULL the base is written:
 * lines of an earlier run that are no longer wanted go.
 */
static bool
write_files(struct enabling *e)
{
	struct sshd_files *fs = &e->p.files;

	for (int turn = 0; turn < 3; turn++) {
		for (size_t i = 0; i < fs->n; i++) {
			struct sshd_file *f = fs->v[i];
			int its = is_sshds(f) ? 2 :
			    strcmp(f->path, KV_CONFIG_PATH) == 0 ? 0 : 1;

			if (its != turn)
				continue;
			if (!(f->next != NULL ? sshd_file_write(fs, f, f->next,
			    f->next_len) : sshd_file_write(fs, f, f->base,
			    f->base_len)))
				return false;
		}
	}
	return true;
}

/* As it is now, on disk. False after a message. */
static bool
validate(struct enabling *e)
{
	const struct sshd_options *o = e->o;
	struct pam_stack stack = { 0 };
	char why[SSHD_WHY_BYTES];
	struct sshd_tree t;
	size_t i = 0, first = 0;
	bool ok;

	ok = sshd_open_tree(o, &t, NULL, 0) && sshd_copy_is_faithful(o, &t);
	if (ok && !sshd_dump_valid(o->sshd, &t, *o->root != '\0', why,
	    sizeof(why))) {
		cli_error("%s", why);
		ok = false;
	}
	sshd_tree_close(&t);
	ok = ok && sshd_require_filters(o, "", &e->accounts);
	if (!ok || !e->pam)
		return ok;
	if (!pam_stack_read(o->root, e->plan.service, &stack, why,
	    sizeof(why))) {
		cli_error("%s", why);
		ok = false;
	}
	while (first < stack.n &&
	    strcmp(stack.line[first].type, "session") != 0)
		first++;
	if (ok && (pam_stack_find(&stack, "session", SSHD_MODULE, &i) == NULL ||
	    i != first)) {
		cli_error("%s/etc/pam.d/%s: pam_keyveto.so is not its first "
		    "session line", o->root, e->plan.service);
		ok = false;
	}
	pam_stack_free(&stack);
	return ok;
}

/* What each file held when we came. */
struct former {
	char *text;
	size_t len;
	bool made;
};

static struct former *
remember(const struct sshd_files *fs)
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

/* sshd's files go back first: they name what the others serve. */
static bool
roll_back(struct enabling *e, const struct former *was)
{
	struct sshd_files *fs = &e->p.files;
	bool ok = true;

	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < fs->n; i++)
			if (is_sshds(fs->v[i]) == (turn == 0))
				ok &= sshd_file_write(fs, fs->v[i],
				    was[i].text, was[i].len);
	if (ok && !e->p.state.found)
		ok = sshd_state_remove(e->o->root);
	cli_error(ok ? "everything was put back as it was" :
	    "not everything could be put back: see to it before the next "
	    "login; %s" SSHD_STATE_DIR " has what was there", e->o->root);
	return ok;
}

static bool
carry_out(struct enabling *e)
{
	struct former *was = remember(&e->p.files);
	bool ok;

	if (was == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	ok = sshd_state_save(&e->p.files, e->guard, e->pam);
	if (ok && !(write_files(e) && validate(e))) {
		roll_back(e, was);
		ok = false;
	}
	for (size_t i = 0; i < e->p.files.n; i++)
		free(was[i].text);
	free(was);
	return ok;
}

/* What the person is to know and do. */
static void
tell(const struct enabling *e)
{
	const struct sshd_options *o = e->o;

	if (e->plan.guard)
		printf("guard: lines put into %s%s\n", o->root, e->plan.place);
	if (e->plan.pam)
		printf("PAM: a line put into %s/etc/pam.d/%s; it counts from "
		    "the next login on\n", o->root, e->plan.service);
	if (o->warn)
		puts("listed keys are let in and logged (OnHit warn): run this "
		    "again without --warn to refuse them");
	if (o->reload)
		puts("sshd goes by it now; keep a session open, and log in "
		    "anew to see that it works");
	else if (e->plan.guard && *o->root == '\0')
		puts("sshd goes by it once it is reloaded (systemctl reload "
		    "ssh); keep a session open until you have logged in anew");
}

static int
enable(struct enabling *e)
{
	const struct sshd_options *o = e->o;
	int status;

	if (!look(e) || !plan(e))
		return CLI_UNCHECKED;
	if ((status = rehearse(e)) != 0)
		return status;
	if (o->dry_run) {
		print_plan(e);
		return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	if (!carry_out(e) || (o->reload && !sshd_reload(e->next_dump)))
		return CLI_UNCHECKED;
	tell(e);
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

static int
run(const struct cli_command *cmd, int argc, char **argv)
{
	struct sshd_options o;
	struct enabling e = { .o = &o };
	int status, lock;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	umask(022);
	if (!sshd_state_lock(o.root, &lock))
		return CLI_UNCHECKED;
	status = enable(&e);
	free(e.base_dump);
	free(e.next_dump);
	accounts_free(&e.accounts);
	sshd_tree_close(&e.base);
	sshd_tree_close(&e.next);
	sshd_present_close(&e.p);
	sshd_state_unlock(o.root, lock);
	return status;
}

const struct cli_command sshd_enable = {
	.name = "sshd enable",
	.synopsis = "[--guard] [--pam] [--warn] [--yes] [--dry-run] "
	    "[--reload] [--root DIR] [--sshd PATH] [--timeout S]",
	.help = "Rehearse, then put keyveto into sshd and PAM",
	.details =
	    "As root. Audits every account first, and changes nothing if "
	    "somebody would be\nrefused. What is written stands between marks, "
	    "is judged by sshd -t, and taken\nback if sshd does not like it. "
	    "What was there is kept for 'keyveto sshd disable'.\n\n"
	    "  --guard          the guard, as AuthorizedKeysCommand; without "
	    "--guard and --pam,\n"
	    "                   both\n"
	    "  --pam            the PAM module, as the first session line\n"
	    "  --warn           for now only log: OnHit warn, OnError allow\n"
	    "  --yes            go on although somebody will be refused\n"
	    "  --dry-run        print the lines, and change nothing\n"
	    "  --reload         reload sshd in the end\n"
	    "  --root DIR       the machine whose file system is below DIR, "
	    "not this one\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "  --timeout S      seconds that an account's files may take "
	    "(default 30)\n"
	    "\nExit status: 0 done, 1 not done because somebody would be "
	    "refused, 2 not done.\n",
	.run = run,
};
