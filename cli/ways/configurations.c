/* SPDX-License-Identifier: ISC */
#include "ways/configurations.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "command.h"
#include "host/system_file.h"
#include "sshd_config/arguments.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/sshd_config.h"
#include "sshd_config/tree.h"
#include "ways/pam_stack.h"
#include "ways/ways.h"

struct search {
	struct configurations *c;
	struct texts files; /* the sshd_config of each sshd */
	bool uses_pam;	    /* one of them, for some accounts */
	bool failed;	    /* without memory */
};

/* Adds a path, unless it is of a file that is there. */
static void
add_path(struct search *f, struct texts *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (system_file_is_same(t->v[i], path))
			return;
	f->failed |= !texts_add(t, path);
}

static void
add(struct search *f, const char *path)
{
	add_path(f, &f->c->paths, path);
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
		(void)guard_config(args, path, sizeof(path));
		add(f, path);
	}
}

static void
add_file(struct search *f, const char *path)
{
	add_path(f, &f->files, path);
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

static void
add_of_sshd(struct search *f)
{
	const struct sshd_arguments found = {
		.arg = f,
		.option = on_option,
		.file = on_file,
		/* A stranger's process, such as a container's, is no reason. */
		.unseen = NULL,
	};

	if (access(SSHD_TREE_TOP, F_OK) == 0 || errno != ENOENT)
		add_file(f, SSHD_TREE_TOP);
	(void)sshd_arguments_find(&found);
	for (size_t i = 0; i < f->files.n; i++) {
		struct sshd_tree t = { 0 };
		char why[512];

		if (!sshd_tree_read(&t, f->files.v[i], NULL, 0, why,
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

	if (!pam_stack_read(service, &s, why, sizeof(why)) && f->uses_pam &&
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

/* Adds what guards and lines of the module name. False after a message. */
static bool
add_named(struct search *f)
{
	add_of_sshd(f);
	add_of_services(f, "/etc/pam.d");
	add_of_services(f, "/usr/lib/pam.d");
	texts_free(&f->files);
	return !f->failed || cli_error("out of memory");
}

bool
configurations_find(struct configurations *c, const char *also)
{
	struct search f = { .c = c };

	*c = (struct configurations){ .incomplete = false };
	if (also != NULL)
		add(&f, also);
	if (access(KV_CONFIG_PATH, F_OK) == 0 || errno != ENOENT)
		add(&f, KV_CONFIG_PATH);
	else if (also == NULL)
		c->defaults = true;
	return add_named(&f);
}

bool
configurations_name(const char *path)
{
	char place[PATH_MAX], other[PATH_MAX];
	struct configurations c = { .incomplete = false };
	struct search f = { .c = &c };
	bool found = !add_named(&f) || c.incomplete ||
	    !system_file_resolve(path, place);

	for (size_t i = 0; !found && i < c.paths.n; i++)
		found = !system_file_resolve(c.paths.v[i], other) ||
		    strcmp(other, place) == 0;
	texts_free(&c.paths);
	return found;
}
