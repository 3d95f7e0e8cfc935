/* SPDX-License-Identifier: ISC */
#include "sshd/setup.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/root_file.h"
#include "sshd_config/words.h"

/*
 * Adds sshd's files, keyveto.conf, and the files in the state. The state says
 * whether enable made a file, which sshd_files_add can only guess. False after
 * a message.
 */
static bool
add_files(struct sshd_setup *p)
{
	for (size_t i = 0; i < p->now.tree.n_files; i++)
		if (sshd_files_add(&p->files, p->now.tree.file[i].path) == NULL)
			return false;
	if (sshd_files_add(&p->files, SSHD_DROP_IN) == NULL ||
	    sshd_files_add(&p->files, KV_CONFIG_PATH) == NULL)
		return false;
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

/* Whether the file does not exist. */
static bool
is_missing(const char *root, const char *path)
{
	int fd = root_open(root, path, O_PATH);
	const bool missing = fd == -1 && errno == ENOENT;

	if (fd != -1)
		close(fd);
	return missing;
}

/*
 * As sshd_open_copy with p->files, which has no files yet for the copy of the
 * files as they are. Puts an SSHD_TREE_TOP that includes the drop-ins in the
 * place of a missing one.
 */
static bool
open_copy(const struct sshd_setup *p, struct sshd_copy *c)
{
	static const char text[] = "Include " SSHD_TREE_DROP_INS "/*.conf\n";
	const struct sshd_change top = {
		.path = SSHD_TREE_TOP,
		.text = text,
		.len = sizeof(text) - 1,
	};
	struct sshd_change *change;
	char why[SSHD_WHY_BYTES];
	size_t n, i = 0;
	bool ok;

	if (!p->lacks_top)
		return sshd_open_copy(p->o, c, &p->files, false);
	*c = (struct sshd_copy){ 0 };
	/* The array has room for one more. */
	if ((change = sshd_files_changes(&p->files, false, &n)) == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	while (i < n && strcmp(change[i].path, top.path) != 0)
		i++;
	change[i] = top;
	ok = sshd_copy_open(c, p->o->root, change, i == n ? n + 1 : n, why,
	    sizeof(why));
	free(change);
	if (!ok)
		cli_error("%s", why);
	return ok;
}

int
sshd_setup_change(const struct cli_command *cmd, int argc, char **argv,
    bool needs_top, int (*change)(struct sshd_setup *p))
{
	struct sshd_options o;
	struct sshd_setup p = { .o = &o, .files.root = o.root };
	int status, lock;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	umask(022);
	if (!sshd_state_lock(o.root, &lock))
		return CLI_UNCHECKED;
	p.lacks_top = !needs_top && is_missing(o.root, SSHD_TREE_TOP);
	status = sshd_state_load(o.root, &p.state) && open_copy(&p, &p.now) &&
		add_files(&p) ?
	    change(&p) :
	    CLI_UNCHECKED;
	sshd_settings_free(p.settings);
	free(p.dump);
	sshd_copy_close(&p.base);
	sshd_copy_close(&p.now);
	sshd_files_free(&p.files);
	sshd_state_free(&p.state);
	sshd_state_unlock(o.root, lock);
	return status;
}

bool
sshd_setup_ask(struct sshd_setup *p, char *why, size_t cap)
{
	const struct sshd_options *o = p->o;
	char path[SSHD_VALUE_BYTES + 16];

	if (!open_copy(p, &p->base))
		return false;
	p->dump = sshd_copy_ask(o->sshd, &p->base, *o->root != '\0', NULL, why,
	    cap);
	if (p->dump != NULL &&
	    (p->settings = sshd_settings_parse(p->dump)) == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
	sshd_pam_service(p->dump != NULL ? p->dump : "", p->service);
	snprintf(path, sizeof(path), SSHD_PAM_DIR "%s", p->service);
	p->pam = sshd_files_add(&p->files, path);
	return p->pam != NULL;
}

/* Whether sshd takes keys from no file and no command. */
static bool
takes_no_keys(const struct sshd_settings *s)
{
	return sshd_words_none(s->keys_files) &&
	    sshd_words_none(s->keys_command);
}

/* The first value of the keyword outside Match blocks; "" for none. */
static const char *
first_value(const struct sshd_tree *t, const char *keyword)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match == 0 &&
		    strcasecmp(t->line[i].keyword, keyword) == 0)
			return t->line[i].value;
	return "";
}

/* The same by the lines alone. Without AuthorizedKeysFile sshd reads files. */
static bool
lines_take_no_keys(const struct sshd_tree *t)
{
	const char *files = first_value(t, "AuthorizedKeysFile");

	return *files != '\0' && sshd_words_none(files) &&
	    sshd_words_none(first_value(t, "AuthorizedKeysCommand"));
}

/* As sshd_setup_keeps_keys, without a message. */
static bool
keeps_keys(struct sshd_setup *p)
{
	const struct sshd_options *o = p->o;
	struct sshd_settings *now;
	char *dump, why[SSHD_WHY_BYTES];
	bool keeps;

	if (p->dump == NULL)
		return !lines_take_no_keys(&p->base.tree) ||
		    lines_take_no_keys(&p->now.tree);
	if (!takes_no_keys(p->settings))
		return true;
	dump = sshd_copy_ask(o->sshd, &p->now, *o->root != '\0', NULL, why,
	    sizeof(why));
	now = dump != NULL ? sshd_settings_parse(dump) : NULL;
	/* Without memory for now, the answer is no. */
	keeps = dump == NULL || (now != NULL && takes_no_keys(now));
	sshd_settings_free(now);
	free(dump);
	return keeps;
}

bool
sshd_setup_keeps_keys(struct sshd_setup *p)
{
	const struct sshd_tree *t = &p->base.tree;
	const char *place = SSHD_TREE_TOP;

	if (keeps_keys(p))
		return true;
	/* The first such line outside Match blocks. */
	for (size_t i = t->n_lines; i > 0; i--)
		if (t->line[i - 1].match == 0 &&
		    strcasecmp(t->line[i - 1].keyword, "AuthorizedKeysFile") ==
			0)
			place = t->file[t->line[i - 1].file].path;
	cli_error("%s%s: AuthorizedKeysFile is none here, outside keyveto's "
		  "marks: without keyveto's lines nobody would get in by key; "
		  "nothing was changed: delete that line, and run this again",
	    p->o->root, place);
	return false;
}

bool
sshd_setup_has_lines(const struct sshd_setup *p, enum sshd_file_owner whose)
{
	for (size_t i = 0; i < p->files.n; i++)
		if (p->files.v[i]->blocks > 0 && p->files.v[i]->whose == whose)
			return true;
	return false;
}
