/* SPDX-License-Identifier: ISC */
#include "sshd/setup.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sshd_config/words.h"

/*
 * Adds the files in the state. The state says whether enable made a file, which
 * sshd_files_add can only guess. False after a message.
 */
static bool
add_files_of_state(struct sshd_setup *p)
{
	for (size_t i = 0; i < p->state.n; i++) {
		const struct sshd_kept *k = &p->state.v[i];
		struct sshd_file *f = sshd_files_add(&p->files, k->path);

		if (f == NULL)
			return false;
		if (f->blocks > 0)
			f->made = !k->there;
	}
	return true;
}

static bool
read_files(const struct sshd_options *o, struct sshd_setup *p)
{
	return sshd_state_load(o->root, &p->state) &&
	    sshd_open_copy(o, &p->now, NULL, 0) &&
	    sshd_files_add_tree(&p->files, &p->now.tree) &&
	    sshd_files_add(&p->files, SSHD_DROP_IN) != NULL &&
	    sshd_files_add(&p->files, KV_CONFIG_PATH) != NULL &&
	    add_files_of_state(p);
}

static void
free_setup(struct sshd_setup *p)
{
	free(p->dump);
	sshd_copy_close(&p->base);
	sshd_copy_close(&p->now);
	sshd_files_free(&p->files);
	sshd_state_free(&p->state);
}

int
sshd_setup_change(const struct cli_command *cmd, int argc, char **argv,
    int (*change)(const struct sshd_options *o, struct sshd_setup *p))
{
	struct sshd_options o;
	struct sshd_setup p = { .files.root = o.root };
	int status, lock;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	umask(022);
	if (!sshd_state_lock(o.root, &lock))
		return CLI_UNCHECKED;
	status = read_files(&o, &p) ? change(&o, &p) : CLI_UNCHECKED;
	free_setup(&p);
	sshd_state_unlock(o.root, lock);
	return status;
}

bool
sshd_setup_ask(const struct sshd_options *o, struct sshd_setup *p, char *why,
    size_t cap)
{
	char service[SSHD_VALUE_BYTES], path[SSHD_VALUE_BYTES + 16];

	if (!sshd_open_changed(o, &p->files, false, &p->base))
		return false;
	p->dump = sshd_copy_ask(o->sshd, &p->base, *o->root != '\0', NULL, why,
	    cap);
	sshd_pam_service(p->dump != NULL ? p->dump : "", service);
	snprintf(path, sizeof(path), SSHD_PAM_DIR "%s", service);
	return sshd_files_add(&p->files, path) != NULL;
}

/* Whether sshd takes keys from no file and no command. */
static bool
takes_no_keys(const char *dump)
{
	char files[SSHD_VALUE_BYTES], command[SSHD_VALUE_BYTES];

	sshd_text_value(dump, "authorizedkeysfile", files, sizeof(files));
	sshd_text_value(dump, "authorizedkeyscommand", command,
	    sizeof(command));
	return sshd_words_none(files) && sshd_words_none(command);
}

/* The first AuthorizedKeysFile line outside Match blocks, or NULL. */
static const struct sshd_line *
find_keys_file_line(const struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match == 0 &&
		    strcasecmp(t->line[i].keyword, "AuthorizedKeysFile") == 0)
			return &t->line[i];
	return NULL;
}

bool
sshd_setup_keeps_keys(const struct sshd_options *o, struct sshd_setup *p)
{
	const struct sshd_line *l;
	char *now, why[SSHD_WHY_BYTES];
	bool keeps;

	if (p->dump == NULL || !takes_no_keys(p->dump))
		return true;
	now = sshd_copy_ask(o->sshd, &p->now, *o->root != '\0', NULL, why,
	    sizeof(why));
	keeps = now == NULL || takes_no_keys(now);
	free(now);
	if (keeps)
		return true;
	l = find_keys_file_line(&p->base.tree);
	cli_error("%s%s: AuthorizedKeysFile is none here, outside keyveto's "
		  "marks: without keyveto's lines nobody would get in by key; "
		  "nothing was changed: delete that line, and run this again",
	    o->root,
	    l != NULL ? p->base.tree.file[l->file].path : SSHD_TREE_TOP);
	return false;
}

bool
sshd_setup_has_lines(const struct sshd_setup *p, bool sshds)
{
	for (size_t i = 0; i < p->files.n; i++) {
		const struct sshd_file *f = p->files.v[i];

		if (f->blocks > 0 &&
		    (sshds ? sshd_file_is_sshds(f) : sshd_file_is_pams(f)))
			return true;
	}
	return false;
}
