/* SPDX-License-Identifier: ISC */
/* keyveto sshd disable: everything as it was before enable. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sshd_command.h"

struct disabling {
	const struct sshd_options *o;
	struct sshd_present p;
	struct sshd_tree base;
	char *dump;		/* of base */
	size_t taken;		/* files that had keyveto's lines */
};

/* PAM's files are not sshd's, and are known by their lines or the state. */
static bool
find_pam(struct disabling *d, const char *dump)
{
	char service[SSHD_VALUE_BYTES], path[SSHD_VALUE_BYTES + 16];

	if (dump == NULL)
		snprintf(service, sizeof(service), "sshd");
	else
		sshd_pam_service(dump, service);
	snprintf(path, sizeof(path), "/etc/pam.d/%s", service);
	return sshd_files_add(&d->p.files, path) != NULL;
}

/*
 * Without keyveto's lines sshd must still start. If it would not start with
 * them either, that is none of their doing.
 */
static bool
check(struct disabling *d)
{
	const struct sshd_options *o = d->o;
	const bool foreign = *o->root != '\0';
	char why[SSHD_WHY_BYTES], before[SSHD_WHY_BYTES];

	if (!sshd_open_changed(o, &d->p.files, false, &d->base))
		return false;
	d->dump = sshd_dump(o->sshd, &d->base, foreign, NULL, why,
	    sizeof(why));
	if (!find_pam(d, d->dump))
		return false;
	if (sshd_dump_valid(o->sshd, &d->base, foreign, why, sizeof(why)))
		return true;
	if (sshd_dump_valid(o->sshd, &d->p.now, foreign, before,
	    sizeof(before))) {
		cli_error("%s; nothing was changed", why);
		return false;
	}
	cli_error("warning: %s; so it was before", why);
	return true;
}

/* What differs from what was kept is the administrator's. */
static void
tell_kept(const struct disabling *d, const struct sshd_file *f)
{
	const struct sshd_kept *k = sshd_state_find(&d->p.state, f->path);

	if (k == NULL)
		return;
	if (!k->there && f->base_len > 0)
		cli_error("note: %s%s: has other lines than keyveto's by now: "
		    "it stays", d->o->root, f->path);
	else if (k->there && f->blocks > 0 && (k->len != f->base_len ||
	    memcmp(k->text, f->base, k->len) != 0))
		cli_error("note: %s%s: was changed since keyveto was enabled: "
		    "only keyveto's lines were taken out", d->o->root,
		    f->path);
	else if (k->there && f->blocks == 0 && f->there)
		cli_error("note: %s%s: keyveto's lines were not in it any more",
		    d->o->root, f->path);
	else if (k->there && !f->there)
		cli_error("note: %s%s: is not there any more; " SSHD_STATE_DIR
		    " had what it was", d->o->root, f->path);
}

static bool
take_out(struct disabling *d, struct sshd_file *f)
{
	if (f->blocks == 0)
		return true;
	d->taken++;
	return sshd_file_write(&d->p.files, f, f->base, f->base_len);
}

/* sshd's own files, or the others. */
static bool
take_out_all(struct disabling *d, bool sshds)
{
	struct sshd_files *fs = &d->p.files;

	for (size_t i = 0; i < fs->n; i++) {
		const char *path = fs->v[i]->path;
		bool its = strcmp(path, KV_CONFIG_PATH) != 0 &&
		    strncmp(path, "/etc/pam.d/", 11) != 0;

		if (its == sshds && !take_out(d, fs->v[i]))
			return false;
	}
	return true;
}

static int
disable(struct disabling *d)
{
	const struct sshd_options *o = d->o;

	if (!sshd_present_open(o, &d->p) || !check(d))
		return CLI_UNCHECKED;
	for (size_t i = 0; i < d->p.files.n; i++)
		tell_kept(d, d->p.files.v[i]);
	/*
	 * Until it is reloaded sshd runs the guard, which reads keyveto.conf:
	 * that goes last.
	 */
	if (!take_out_all(d, true) || (o->reload && d->taken > 0 &&
	    (d->dump == NULL || !sshd_reload(d->dump))) ||
	    !take_out_all(d, false) || !sshd_state_remove(o->root))
		return CLI_UNCHECKED;
	if (d->taken == 0)
		puts("keyveto's lines were nowhere");
	else if (*o->root == '\0' && !o->reload)
		puts("sshd goes by it once it is reloaded (systemctl reload "
		    "ssh): do that now");
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

static int
run(const struct cli_command *cmd, int argc, char **argv)
{
	struct sshd_options o;
	struct disabling d = { .o = &o };
	int status, lock;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	umask(022);
	if (!sshd_state_lock(o.root, &lock))
		return CLI_UNCHECKED;
	status = disable(&d);
	free(d.dump);
	sshd_tree_close(&d.base);
	sshd_present_close(&d.p);
	sshd_state_unlock(o.root, lock);
	return status;
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
