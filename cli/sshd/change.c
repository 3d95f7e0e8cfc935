/* SPDX-License-Identifier: ISC */
/* sshd/change: what "keyveto sshd enable" and "disable" begin and end with. */
#include <sys/stat.h>

#include "sshd/sshd.h"
#include "sshd/state.h"

/*
 * Reads sshd's configuration into now, and into files all that enable and
 * disable may change: sshd's files, keyveto.conf, and the kept ones. kept says
 * whether enable made a file, which sshd_files_add can only guess. False after
 * a message.
 */
static bool
read_files(const struct sshd_options *o, bool needs_all, struct sshd_copy *now,
    struct sshd_files *files, const struct sshd_state *kept)
{
	const struct sshd_file *top = NULL;
	char why[SSHD_WHY_BYTES];

	if (!needs_all && (top = sshd_files_add(files, SSHD_TREE_TOP)) == NULL)
		return false;
	/* sshd_base_read says which part cannot be read. */
	if (!sshd_try_copy(o, now, top != NULL && !top->there ? files : NULL,
		false, why, sizeof(why)) &&
	    needs_all)
		return cli_error("%s", why);
	for (size_t i = 0; i < now->tree.n_files; i++)
		if (sshd_files_add(files, now->tree.file[i].path) == NULL)
			return false;
	if (sshd_files_add(files, SSHD_DROP_IN) == NULL ||
	    sshd_files_add(files, KV_CONFIG_PATH) == NULL)
		return false;
	for (size_t i = 0; i < kept->n; i++) {
		const struct sshd_kept *k = &kept->v[i];
		struct sshd_file *f = sshd_files_add(files, k->path);

		if (f == NULL)
			return false;
		if (f->blocks > 0)
			f->made = !k->there;
	}
	return true;
}

int
sshd_change(const struct cli_command *cmd, int argc, char **argv,
    bool needs_all, sshd_change_fn *change)
{
	struct sshd_options o;
	struct sshd_files files = { .root = o.root };
	struct sshd_copy now = { 0 };
	struct sshd_state kept;
	int status, lock;

	if ((status = sshd_read_options(cmd, argc, argv, &o)) != -1)
		return status;
	umask(022);
	if (!sshd_state_lock(o.root, &lock))
		return CLI_UNCHECKED;
	status = sshd_state_load(o.root, &kept) &&
		read_files(&o, needs_all, &now, &files, &kept) ?
	    change(&o, &now, &files, &kept) :
	    CLI_UNCHECKED;
	sshd_copy_close(&now);
	sshd_files_free(&files);
	sshd_state_free(&kept);
	sshd_state_unlock(o.root, lock);
	return status;
}
