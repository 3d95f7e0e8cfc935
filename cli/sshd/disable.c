/* SPDX-License-Identifier: ISC */
/* keyveto sshd disable: everything as it was before enable. */
#include <stdlib.h>
#include <string.h>

#include "sshd/block.h"
#include "sshd/remains.h"
#include "sshd/sshd.h"

/*
 * Without keyveto's lines sshd must still start. If it would not start with
 * them either, that is none of their doing.
 */
static bool
check(const struct sshd_options *o, struct sshd_present *p)
{
	const bool foreign = *o->root != '\0';
	char why[SSHD_WHY_BYTES], before[SSHD_WHY_BYTES];

	if (!sshd_present_ask(o, p, why, sizeof(why)))
		return false;
	if (sshd_copy_is_valid(o->sshd, &p->base, foreign, why, sizeof(why)))
		return true;
	if (sshd_copy_is_valid(o->sshd, &p->now, foreign, before,
		sizeof(before))) {
		cli_error("%s; nothing was changed", why);
		return false;
	}
	cli_error("warning: %s; so it was before", why);
	return true;
}

/* What differs from what was kept is the administrator's. */
static void
tell_kept(const struct sshd_present *p, const struct sshd_file *f)
{
	const struct sshd_kept *k = sshd_state_find(&p->state, f->path);
	const char *root = p->files.root;

	if (k == NULL)
		return;
	if (!k->there && f->base_len > 0)
		cli_error("note: %s%s: has other lines than keyveto's by now: "
			  "it stays",
		    root, f->path);
	else if (k->there && f->blocks > 0 &&
	    (k->len != f->base_len || memcmp(k->text, f->base, k->len) != 0))
		cli_error("note: %s%s: was changed since keyveto was enabled: "
			  "only keyveto's lines were taken out",
		    root, f->path);
	else if (k->there && f->blocks == 0 && f->there)
		cli_error("note: %s%s: keyveto's lines were not in it any more",
		    root, f->path);
	else if (k->there && !f->there)
		cli_error("note: %s%s: is not there any more; " SSHD_STATE_DIR
			  " had what it was",
		    root, f->path);
}

enum whose { SSHDS, PAMS, KEYVETOS };

static enum whose
whose_file(const struct sshd_file *f)
{
	return sshd_file_is_sshds(f) ? SSHDS :
	    sshd_file_is_pams(f)     ? PAMS :
				       KEYVETOS;
}

/* From sshd's own files, PAM's, or keyveto.conf; counts them. */
static bool
take_out(struct sshd_present *p, enum whose whose, size_t *np)
{
	struct sshd_files *fs = &p->files;

	for (size_t i = 0; i < fs->n; i++) {
		struct sshd_file *f = fs->v[i];

		if (f->blocks == 0 || whose_file(f) != whose)
			continue;
		++*np;
		if (!sshd_file_write(fs, f, f->base, f->base_len))
			return false;
	}
	return true;
}

/* Whether keyveto's lines are in a file that is not sshd's. */
static bool
has_other_lines(const struct sshd_present *p)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (p->files.v[i]->blocks > 0 &&
		    !sshd_file_is_sshds(p->files.v[i]))
			return true;
	return false;
}

/* Whether enable put lines into a file of sshd's, by what it kept. */
static bool
had_guard(const struct sshd_present *p)
{
	for (size_t i = 0; i < p->state.n; i++) {
		const struct sshd_file *f = sshd_files_find(&p->files,
		    p->state.v[i].path);

		if (f != NULL && sshd_file_is_sshds(f))
			return true;
	}
	return false;
}

static int
disable(const struct sshd_options *o, struct sshd_present *p)
{
	size_t taken = 0;
	bool guard;

	if (!check(o, p) || !sshd_present_keeps_keys(o, p) ||
	    !sshd_remains_allow(o, p))
		return CLI_UNCHECKED;
	for (size_t i = 0; i < p->files.n; i++)
		tell_kept(p, p->files.v[i]);
	/* keyveto.conf goes last: the others' lines may only warn by it. */
	if (!take_out(p, SSHDS, &taken))
		return CLI_UNCHECKED;
	guard = taken > 0 || had_guard(p);
	/* An earlier run may have taken them out, and not have reloaded. */
	if (o->reload && (p->dump == NULL || !sshd_reload(p->dump))) {
		cli_error(has_other_lines(p) ?
			"PAM's lines and those in "
			"keyveto.conf stay for now: reload sshd, then run this "
			"again without --reload" :
			"sshd was not reloaded: reload "
			"it, then run this again without --reload");
		return CLI_UNCHECKED;
	}
	if (!take_out(p, PAMS, &taken) || !take_out(p, KEYVETOS, &taken) ||
	    !sshd_state_remove(o->root))
		return CLI_UNCHECKED;
	if (taken == 0)
		puts("no keyveto lines found");
	else if (guard && *o->root == '\0' && !o->reload)
		puts("sshd runs the guard until it is reloaded, and the guard "
		     "reads keyveto.conf without these lines: run systemctl "
		     "reload ssh now");
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

static int
run(const struct cli_command *cmd, int argc, char **argv)
{
	return sshd_run_change(cmd, argc, argv, disable);
}

const struct cli_command sshd_disable = {
	.name = "sshd disable",
	.synopsis = "[--reload] [--root DIR] [--sshd PATH]",
	.help = "Take keyveto out of sshd and PAM again",
	.details =
	    "As root. Takes out the lines between keyveto's marks, and removes "
	    "files that it\nmade: everything is as it was, to the byte, but for "
	    "what others changed since.\n\n"
	    "  --reload         reload sshd in the end\n"
	    "  --root DIR       the machine whose file system is below DIR, "
	    "not this one\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n"
	    "\nExit status: 0 done, 2 not done.\n",
	.run = run,
};
