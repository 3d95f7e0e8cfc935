/* SPDX-License-Identifier: ISC */
#include "sshd/remains.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/root_file.h"
#include "sshd/block.h"
#include "sshd_config/guard_command.h"

struct remains {
	const struct sshd_options *o;
	const struct sshd_present *p;
	bool names;		/* print messages as well */
	bool allowed;
	/* What keyveto's lines in keyveto.conf say. */
	bool conf_lines, conf_lenient;
	bool module, guard;	/* there is one that goes by them */
};

/* Whether keyveto's lines let in what keyveto.conf would refuse otherwise. */
static bool
is_lenient(const char *lines)
{
	static const char *const lenient[] = {
		"OnHit warn", "OnError allow", "OnUnsupported allow"
	};

	for (size_t i = 0; i < sizeof(lenient) / sizeof(lenient[0]); i++)
		if (strstr(lines, lenient[i]) != NULL)
			return true;
	return false;
}

static void
read_conf(struct remains *r)
{
	const struct sshd_file *f = sshd_files_find(&r->p->files,
	    KV_CONFIG_PATH);
	char *lines, why[SSHD_WHY_BYTES];
	size_t len, n;

	if (f == NULL || (lines = sshd_block_lines(f->now, f->now_len, &len,
	    &n, why, sizeof(why))) == NULL)
		return;
	r->conf_lines = len > 0;
	r->conf_lenient = is_lenient(lines);
	free(lines);
}

/* Whether a path is that of the keyveto.conf that enable writes into. */
static bool
is_our_conf(const struct remains *r, const char *path)
{
	char ours[PATH_MAX], its[PATH_MAX];

	return strcmp(path, KV_CONFIG_PATH) == 0 ||
	    (root_resolve(r->o->root, KV_CONFIG_PATH, ours) &&
	    root_resolve(r->o->root, path, its) && strcmp(ours, its) == 0);
}

/*
 * Tells of one, by its line as it is now; if nothing is changed, that is its
 * number, else the one that it will have.
 */
static void
name_one(const struct remains *r, const char *path, size_t line,
    const char *what)
{
	const struct sshd_file *f = sshd_files_find(&r->p->files, path);

	if (r->allowed && f != NULL)
		line = sshd_block_line_outside(f->now, f->now_len, line);
	cli_error("%s%s%s:%zu: %s stays: this line is not one of keyveto's",
	    r->allowed ? "note: " : "", r->o->root, path, line, what);
}

/* Whether a line is between keyveto's marks. */
static bool
is_ours(const struct remains *r, const char *path, size_t line)
{
	const struct sshd_file *f = sshd_files_find(&r->p->files, path);

	return f != NULL &&
	    sshd_block_line_outside(f->now, f->now_len, line) == 0;
}

static void
find_modules(struct remains *r)
{
	char service[SSHD_VALUE_BYTES], why[SSHD_WHY_BYTES];
	char config[PATH_MAX];
	struct pam_stack stack;

	sshd_pam_service(r->p->dump != NULL ? r->p->dump : "", service);
	/* What PAM cannot read beyond some line, it does not run. */
	(void)pam_stack_read(r->o->root, service, &stack, why, sizeof(why));
	for (size_t i = 0; i < stack.n; i++) {
		const struct pam_line *l = &stack.line[i];

		if (strcmp(pam_line_module(l), SSHD_MODULE) != 0 ||
		    is_ours(r, l->file, l->line))
			continue;
		pam_stack_config(l, config, sizeof(config));
		r->module |= is_our_conf(r, config);
		if (r->names)
			name_one(r, l->file, l->line, SSHD_MODULE);
	}
	pam_stack_free(&stack);
}

static void
find_guards(struct remains *r)
{
	const struct sshd_tree *t = &r->p->now;
	char config[PATH_MAX];
	const char *args;

	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];
		const char *path = t->file[l->file];

		if ((strcasecmp(l->keyword, "AuthorizedKeysCommand") != 0 &&
		    strcasecmp(l->keyword, "AuthorizedPrincipalsCommand") !=
		    0) || !guard_command(l->value, &args) ||
		    is_ours(r, path, l->number))
			continue;
		r->guard |= !guard_config(args, config, sizeof(config)) ||
		    is_our_conf(r, config);
		if (r->names)
			name_one(r, path, l->number, "the guard");
	}
}

bool
sshd_remains_allow(const struct sshd_options *o, const struct sshd_present *p)
{
	struct remains r = { .o = o, .p = p };

	read_conf(&r);
	find_modules(&r);
	find_guards(&r);
	r.allowed = !(r.module && r.conf_lenient) &&
	    !(r.guard && r.conf_lines);
	r.names = true;
	find_modules(&r);
	find_guards(&r);
	if (r.allowed)
		return true;
	cli_error("%s" KV_CONFIG_PATH ": without keyveto's lines there, what "
	    "stays would %s; nothing was changed. To keep it as it is, delete "
	    "the two marks around keyveto's lines in that file (# BEGIN "
	    "keyveto, # END keyveto) and run this again: the lines then stay "
	    "there%s", o->root, r.conf_lenient ? "refuse the keys that are "
	    "only logged now" : "hand out other keys", r.guard ? "" :
	    ". To be rid of it, delete the line of " SSHD_MODULE " first");
	return false;
}
