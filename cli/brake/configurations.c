/* SPDX-License-Identifier: ISC */
/*
 * brake/configurations: each keyveto.conf by which a login of this machine may
 * be judged. That is the default one, those that a guard in sshd's
 * configuration names with --config, in Match blocks, too, and those that a
 * line of the module in PAM's stacks names with config=.
 */
#include "brake/parts.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command.h"
#include "sshd_config/arguments.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/sshd_config.h"
#include "sshd_config/tree.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

struct search {
	struct brake_configurations *c;
	char **file; /* the sshd_config of each sshd */
	size_t n_files;
	bool uses_pam; /* one of them, for some accounts */
	bool failed;   /* without memory */
};

bool
brake_is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool
is_same_file(const char *one, const char *other)
{
	struct stat a, b;

	return strcmp(one, other) == 0 ||
	    (stat(one, &a) == 0 && stat(other, &b) == 0 &&
		brake_is_same_file(&a, &b));
}

/* Appends a copy of text. False without memory. */
static bool
append(char ***v, size_t *n, const char *text)
{
	char **longer = reallocarray(*v, *n + 1, sizeof(char *));

	if (longer == NULL)
		return false;
	*v = longer;
	longer[*n] = NULL;
	if (text != NULL && (longer[*n] = strdup(text)) == NULL)
		return false;
	++*n;
	return true;
}

static void
add(struct search *f, const char *path)
{
	struct brake_configurations *c = f->c;

	for (size_t i = 0; i < c->n; i++)
		if (c->path[i] != NULL && is_same_file(c->path[i], path))
			return;
	f->failed |= !append(&c->path, &c->n, path);
}

static void
report_incomplete(struct search *f, const char *where, const char *why)
{
	cli_error("%s%s%s; so it is not known by which keyveto.conf logins "
		  "are judged",
	    where, *where != '\0' ? ": " : "", why);
	f->c->incomplete = true;
}

/* --- sshd ----------------------------------------------------------------- */

static void
add_of_guards(struct search *f, const struct sshd_tree *t)
{
	char path[PATH_MAX];
	const char *args;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		f->uses_pam |= strcasecmp(l->keyword, "UsePAM") == 0 &&
		    strcasecmp(l->value, "no") != 0;
		if ((strcasecmp(l->keyword, "AuthorizedKeysCommand") != 0 &&
			strcasecmp(l->keyword, "AuthorizedPrincipalsCommand") !=
			    0) ||
		    !guard_command(l->value, &args))
			continue;
		if (!guard_config(args, path, sizeof(path)))
			snprintf(path, sizeof(path), "%s", KV_CONFIG_PATH);
		add(f, path);
	}
}

static void
add_file(struct search *f, const char *path)
{
	for (size_t i = 0; i < f->n_files; i++)
		if (is_same_file(f->file[i], path))
			return;
	f->failed |= !append(&f->file, &f->n_files, path);
}

/* An -f of an sshd, or of the next one. */
static void
on_file(void *arg, const struct sshd_start *start, const char *path)
{
	/* The next sshd does not start with a file that is not there. */
	if (!start->listens && access(path, F_OK) == -1)
		return;
	if (*path != '/')
		report_incomplete(arg, start->place,
		    "its -f is not an absolute path");
	else
		add_file(arg, path);
}

/* An -o: of the guard's arguments only the first can be seen. */
static void
on_option(void *arg, const struct sshd_start *start, const char *keyword,
    const char *value)
{
	const char *args;

	if ((strcasecmp(keyword, "AuthorizedKeysCommand") == 0 ||
		strcasecmp(keyword, "AuthorizedPrincipalsCommand") == 0) &&
	    guard_command(value, &args))
		report_incomplete(arg, start->place,
		    "it gets a guard with -o, and its --config cannot be seen "
		    "there");
}

/* A stranger's process, such as a container's sshd, is no reason to hold. */
static void
on_unseen(void *arg, const char *place, const char *why)
{
	(void)arg;
	(void)place;
	(void)why;
}

static void
add_of_sshd(struct search *f)
{
	const struct sshd_arguments found = {
		.arg = f,
		.option = on_option,
		.file = on_file,
		.unseen = on_unseen,
	};

	if (access(SSHD_TREE_TOP, F_OK) == 0 || errno != ENOENT)
		add_file(f, SSHD_TREE_TOP);
	(void)sshd_arguments_find(&found);
	for (size_t i = 0; i < f->n_files; i++) {
		struct sshd_tree t = { 0 };
		char why[512];

		if (!sshd_tree_read(&t, "", f->file[i], NULL, 0, why,
			sizeof(why)))
			report_incomplete(f, "", why);
		add_of_guards(f, &t);
		sshd_tree_free(&t);
	}
}

/* --- PAM ------------------------------------------------------------------ */

/*
 * A service that cannot be read may be none of sshd's: it has the lines before
 * the mistake, and is no reason to hold.
 */
static void
add_of_service(struct search *f, const char *service)
{
	struct pam_stack s;
	char why[512], path[PATH_MAX];

	if (!pam_stack_read("", service, &s, why, sizeof(why)) && f->uses_pam &&
	    strcmp(service, "sshd") == 0)
		report_incomplete(f, "", why);
	for (size_t i = 0; i < s.n; i++) {
		if (strcmp(pam_line_module(&s.line[i]), WAYS_MODULE) != 0)
			continue;
		pam_stack_config(&s.line[i], path, sizeof(path));
		add(f, path);
	}
	pam_stack_free(&s);
}

/* Any service may be that of an sshd (PAMServiceName). */
static void
add_of_services(struct search *f, const char *folder)
{
	DIR *dir = opendir(folder);
	const struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.')
			add_of_service(f, e->d_name);
	if (dir != NULL)
		closedir(dir);
}

/* --- all ------------------------------------------------------------------ */

bool
brake_configurations_find(struct brake_configurations *c, const char *also)
{
	struct search f = { .c = c };

	*c = (struct brake_configurations){ .n = 0 };
	if (also != NULL)
		add(&f, also);
	if (access(KV_CONFIG_PATH, F_OK) == 0 || errno != ENOENT)
		add(&f, KV_CONFIG_PATH);
	else if (also == NULL)
		f.failed |= !append(&c->path, &c->n, NULL);
	add_of_sshd(&f);
	add_of_services(&f, "/etc/pam.d");
	add_of_services(&f, "/usr/lib/pam.d");
	for (size_t i = 0; i < f.n_files; i++)
		free(f.file[i]);
	free(f.file);
	if (f.failed)
		cli_error("out of memory");
	return !f.failed;
}

void
brake_configurations_free(struct brake_configurations *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->path[i]);
	free(c->path);
	*c = (struct brake_configurations){ .n = 0 };
}
