/* SPDX-License-Identifier: ISC */
/* What enable and disable start from. */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sshd/sshd.h"
#include "sshd_config/subject.h"
#include "sshd_config/words.h"

/* What the state knows better than a look at the file. */
static bool
apply_state(struct sshd_present *p)
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
open_present(const struct sshd_options *o, struct sshd_present *p)
{
	return sshd_state_load(o->root, &p->state) &&
	    sshd_open_copy(o, &p->now, NULL, 0) &&
	    sshd_files_add_tree(&p->files, &p->now.tree) &&
	    sshd_files_add(&p->files, SSHD_DROP_IN) != NULL &&
	    sshd_files_add(&p->files, KV_CONFIG_PATH) != NULL && apply_state(p);
}

static void
close_present(struct sshd_present *p)
{
	free(p->dump);
	sshd_copy_close(&p->base);
	sshd_copy_close(&p->now);
	sshd_files_free(&p->files);
	sshd_state_free(&p->state);
}

int
sshd_run_change(const struct cli_command *cmd, int argc, char **argv,
    int (*change)(const struct sshd_options *o, struct sshd_present *p))
{
	struct sshd_options o;
	struct sshd_present p = { .files.root = o.root };
	int status, lock;

	if (sshd_read_options(cmd, argc, argv, &o, &status) != 0)
		return status;
	umask(022);
	if (!sshd_state_lock(o.root, &lock))
		return CLI_UNCHECKED;
	status = open_present(&o, &p) ? change(&o, &p) : CLI_UNCHECKED;
	close_present(&p);
	sshd_state_unlock(o.root, lock);
	return status;
}

bool
sshd_present_ask(const struct sshd_options *o, struct sshd_present *p,
    char *why, size_t cap)
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

/* Where sshd is told to read no file, outside Match blocks. */
static const struct sshd_line *
find_no_files(const struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match == 0 &&
		    strcasecmp(t->line[i].keyword, "AuthorizedKeysFile") == 0)
			return &t->line[i];
	return NULL;
}

bool
sshd_present_keeps_keys(const struct sshd_options *o, struct sshd_present *p)
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
	l = find_no_files(&p->base.tree);
	cli_error("%s%s: AuthorizedKeysFile is none here, outside keyveto's "
		  "marks: without keyveto's lines nobody would get in by key; "
		  "nothing was changed: delete that line, and run this again",
	    o->root,
	    l != NULL ? p->base.tree.file[l->file].path : SSHD_TREE_TOP);
	return false;
}

bool
sshd_present_has(const struct sshd_present *p, bool sshds)
{
	for (size_t i = 0; i < p->files.n; i++) {
		const struct sshd_file *f = p->files.v[i];

		if (f->blocks > 0 &&
		    (sshds ? sshd_file_is_sshds(f) : sshd_file_is_pams(f)))
			return true;
	}
	return false;
}

/* Without the lines that differ by the host key that was made for sshd. */
static bool
same_settings(const char *a, const char *b)
{
	for (;;) {
		size_t n, m;

		while (strncasecmp(a, "hostkey ", 8) == 0)
			a += strcspn(a, "\n") + (strchr(a, '\n') != NULL);
		while (strncasecmp(b, "hostkey ", 8) == 0)
			b += strcspn(b, "\n") + (strchr(b, '\n') != NULL);
		n = strcspn(a, "\n");
		m = strcspn(b, "\n");
		if (n != m || memcmp(a, b, n) != 0)
			return false;
		if (a[n] == '\0' || b[n] == '\0')
			return a[n] == b[n];
		a += n + 1;
		b += n + 1;
	}
}

/* False after a message if sshd reads another file than keyveto does. */
static bool
reads_our_file(const struct sshd *sshd)
{
	const struct sshd_subject *s = sshd_subject(sshd);
	struct stat its, ours;

	if (*s->refused != '\0') {
		cli_error("%s", s->refused);
		return false;
	}
	if (strcmp(s->file, SSHD_TREE_TOP) == 0 ||
	    (stat(s->file, &its) == 0 && stat(SSHD_TREE_TOP, &ours) == 0 &&
		its.st_dev == ours.st_dev && its.st_ino == ours.st_ino))
		return true;
	if (*s->file != '\0')
		cli_error("%s reads %s, and keyveto sshd is for an sshd that "
			  "reads another file (" SSHD_TREE_TOP
			  "): put keyveto in "
			  "by hand there",
		    sshd->path, s->file);
	else
		cli_error(
		    "%s does not tell (sshd -dd -T) that it reads " SSHD_TREE_TOP
		    ": put keyveto in by hand",
		    sshd->path);
	return false;
}

bool
sshd_copy_is_faithful(const struct sshd_options *o, struct sshd_copy *c)
{
	struct sshd sshd = { .path = o->sshd };
	struct sshd_question q;
	char why[SSHD_WHY_BYTES], *real, *copy;
	bool same;

	if (*o->root != '\0')
		return true;
	if ((copy = sshd_ask_copy(o, c, NULL)) == NULL)
		return false;
	sshd.host_key = c->host_key;
	if (!reads_our_file(&sshd)) {
		free(copy);
		return false;
	}
	/* Without -f: what it reads when it is started as usual. */
	sshd_ask(&sshd, NULL, &q);
	real = sshd_answer_text(&q, why, sizeof(why));
	same = real != NULL && same_settings(real, copy);
	if (real == NULL)
		cli_error("%s", why);
	else if (!same)
		cli_error(SSHD_TREE_TOP
		    ": sshd reads this file in another way "
		    "than keyveto does, or it is being changed; put keyveto in "
		    "by hand");
	free(real);
	free(copy);
	return same;
}
