/* SPDX-License-Identifier: ISC */
#include "sshd/foreign_lines.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/root_file.h"
#include "sshd/block.h"
#include "sshd_config/arguments.h"
#include "sshd_config/guard_command.h"

struct foreign {
	const struct sshd_options *o;
	const struct sshd_setup *p;
	bool names;   /* print a message for each foreign line */
	bool allowed; /* disable can remove keyveto's lines */
	/* keyveto.conf has lines of keyveto's; they let in listed keys. */
	bool conf_lines, conf_lenient;
	bool module, guard; /* a foreign one reads that keyveto.conf */
	char *named;	    /* "FILE:LINE\n" for each message so far */
};

/* Sets r->conf_lines and r->conf_lenient. */
static void
read_conf_lines(struct foreign *r)
{
	static const char *const lenient[] = {
		"OnHit warn",
		"OnProbable warn",
		"OnError allow",
		"OnUnsupported allow",
	};
	const struct sshd_file *f = sshd_files_find(&r->p->files,
	    KV_CONFIG_PATH);
	char *lines, why[SSHD_WHY_BYTES];
	size_t len, n;

	if (f == NULL ||
	    (lines = sshd_block_lines(f->now, f->now_len, &len, &n, why,
		 sizeof(why))) == NULL)
		return;
	r->conf_lines = len > 0;
	for (size_t i = 0; i < sizeof(lenient) / sizeof(lenient[0]); i++)
		r->conf_lenient |= strstr(lines, lenient[i]) != NULL;
	free(lines);
}

/* Whether two paths are of one file, links resolved. */
static bool
is_same_file(const struct foreign *r, const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX];

	return strcmp(a, b) == 0 ||
	    (root_resolve(r->o->root, a, x) && root_resolve(r->o->root, b, y) &&
		strcmp(x, y) == 0);
}

/* The file of r->p->files that path names; NULL for none. */
static const struct sshd_file *
find_file(const struct foreign *r, const char *path)
{
	const struct sshd_files *fs = &r->p->files;
	const struct sshd_file *f = sshd_files_find(fs, path);

	for (size_t i = 0; f == NULL && i < fs->n; i++)
		if (fs->v[i]->there && is_same_file(r, path, fs->v[i]->path))
			f = fs->v[i];
	return f;
}

/*
 * Whether no message has named the line so far; notes it in r->named. Several
 * services may include one line.
 */
static bool
is_first_message(struct foreign *r, const char *path, size_t line)
{
	const char *old = r->named != NULL ? r->named : "\n";
	char *place, *longer;
	bool new;

	if (asprintf(&place, "\n%s:%zu\n", path, line) == -1)
		return true;
	new = strstr(old, place) == NULL;
	if (new &&asprintf(&longer, "%s%s", old, place + 1) != -1) {
		free(r->named);
		r->named = longer;
	}
	free(place);
	return new;
}

/*
 * Whether a line is not one of keyveto's. If r->names is true, prints a message
 * about a foreign one. If disable goes on, the message has the number that the
 * line will have without keyveto's lines.
 */
static bool
is_foreign(struct foreign *r, const char *path, size_t line, const char *what)
{
	const struct sshd_file *f = find_file(r, path);
	const size_t outside = f != NULL ?
	    sshd_block_line_outside(f->now, f->now_len, line) :
	    line;

	if (f != NULL && outside == 0)
		return false;
	if (r->names && is_first_message(r, f != NULL ? f->path : path, line))
		cli_error(
		    "%s%s%s:%zu: %s stays: this line is not one of keyveto's",
		    r->allowed ? "note: " : "", r->o->root, path,
		    r->allowed ? outside : line, what);
	return true;
}

/* Finds foreign lines of the module in one PAM service. */
static void
find_modules_in(struct foreign *r, const char *service)
{
	char why[SSHD_WHY_BYTES], config[PATH_MAX];
	struct pam_stack stack;

	/* PAM does not run lines that it cannot read. */
	(void)pam_stack_read(r->o->root, service, &stack, why, sizeof(why));
	for (size_t i = 0; i < stack.n; i++) {
		const struct pam_line *l = &stack.line[i];

		if (strcmp(pam_line_module(l), SSHD_MODULE) != 0 ||
		    !is_foreign(r, l->file, l->line, SSHD_MODULE))
			continue;
		pam_stack_config(l, config, sizeof(config));
		r->module |= is_same_file(r, config, KV_CONFIG_PATH);
	}
	pam_stack_free(&stack);
}

/*
 * Finds foreign lines of the module in all services: a second sshd, or a Match
 * block, may use another service than dump names.
 */
static void
find_modules(struct foreign *r)
{
	static const char *const dirs[] = { SSHD_PAM_DIR, "/usr/lib/pam.d/" };
	char service[SSHD_VALUE_BYTES], pattern[64];
	glob_t found;

	sshd_pam_service(r->p->dump != NULL ? r->p->dump : "", service);
	find_modules_in(r, service);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(pattern, sizeof(pattern), "%s*", dirs[i]);
		if (root_glob(r->o->root, pattern, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			find_modules_in(r, found.gl_pathv[k] + strlen(dirs[i]));
		globfree(&found);
	}
}

static void
find_guards_in(struct foreign *r, const struct sshd_tree *t)
{
	char config[PATH_MAX];
	const char *args;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if ((strcasecmp(l->keyword, "AuthorizedKeysCommand") != 0 &&
			strcasecmp(l->keyword, "AuthorizedPrincipalsCommand") !=
			    0) ||
		    !guard_command(l->value, &args) ||
		    !is_foreign(r, t->file[l->file].path, l->number,
			"the guard"))
			continue;
		r->guard |= !guard_config(args, config, sizeof(config)) ||
		    is_same_file(r, config, KV_CONFIG_PATH);
	}
}

/* The same in the file that another sshd of this machine is started with. */
static void
find_guards_of_other(void *arg, const struct sshd_start *start,
    const char *path)
{
	struct foreign *r = arg;
	char why[SSHD_WHY_BYTES];
	struct sshd_tree t;

	(void)start;
	/* If a part cannot be read, that sshd does not start either. */
	if (*path != '/' || strcmp(path, SSHD_TREE_TOP) == 0)
		return;
	if (sshd_tree_read(&t, "", path, NULL, 0, why, sizeof(why)))
		find_guards_in(r, &t);
	sshd_tree_free(&t);
}

static void
ignore_unseen(void *arg, const char *place, const char *why)
{
	(void)arg, (void)place, (void)why;
}

static void
find_guards(struct foreign *r)
{
	const struct sshd_arguments other = {
		.arg = r,
		.file = find_guards_of_other,
		.unseen = ignore_unseen,
	};

	find_guards_in(r, &r->p->now.tree);
	if (*r->o->root == '\0')
		(void)sshd_arguments_find(&other);
}

bool
sshd_foreign_lines_allow(const struct sshd_options *o,
    const struct sshd_setup *p)
{
	struct foreign r = { .o = o, .p = p };

	read_conf_lines(&r);
	find_modules(&r);
	find_guards(&r);
	r.allowed = !(r.module && r.conf_lenient) && !(r.guard && r.conf_lines);
	r.names = true;
	find_modules(&r);
	find_guards(&r);
	free(r.named);
	if (r.allowed)
		return true;
	cli_error(
	    "%s" KV_CONFIG_PATH ": without keyveto's lines there, what "
	    "stays would %s; nothing was changed. To keep it as it is, delete "
	    "the two marks around keyveto's lines in that file (# BEGIN "
	    "keyveto, # END keyveto) and run this again: the lines then stay "
	    "there%s",
	    o->root,
	    r.conf_lenient ? "refuse the keys that are "
			     "only logged now" :
			     "hand out other keys",
	    r.guard ?
		"" :
		". To be rid of it, delete the line of " SSHD_MODULE " first");
	return false;
}
