/* SPDX-License-Identifier: ISC */
/*
 * sshd/foreign_lines: lines for the guard or the module that somebody else
 * wrote into sshd's or PAM's files. "keyveto disable" leaves them there,
 * and "keyveto enable --warn" must not change what they refuse.
 */
#include "sshd/reasons.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/room.h"
#include "host/system_file.h"
#include "sshd_config/arguments.h"
#include "sshd_config/block.h"
#include "sshd_config/guard_command.h"

/* The advice of enable --warn names this file. keyveto reads it nowhere. */
#define OWN_CONFIG KV_SYSCONFDIR "/keyveto/by-hand.conf"

/* A line for the guard or the module that is not one of keyveto's. */
struct foreign_line {
	char *path;	 /* as sshd or PAM names the file */
	size_t number;	 /* in that file */
	size_t outside;	 /* the number that it has without keyveto's lines */
	bool module;	 /* false: it is for the guard */
	bool reads_conf; /* it goes by KV_CONFIG_PATH */
};

struct foreign {
	const struct sshd_files *files;
	struct foreign_line *line; /* each line once */
	size_t n;
	bool failed; /* without memory */
};

/* How one text of keyveto.conf differs from another for who goes by it. */
struct conf_change {
	bool looser;	  /* lets in what the other refuses */
	bool stricter;	  /* refuses what the other lets in */
	bool other_files; /* names other files with keys */
};

static bool
loosens(enum kv_action from, enum kv_action to)
{
	return from == KV_ACTION_DENY && to != KV_ACTION_DENY;
}

static bool
is_looser(const struct kv_config *from, const struct kv_config *to)
{
	return loosens(from->on_hit, to->on_hit) ||
	    loosens(from->on_probable, to->on_probable) ||
	    loosens(from->on_error, to->on_error) ||
	    loosens(from->on_unsupported, to->on_unsupported);
}

static bool
has_other_files(const struct kv_config *from, const struct kv_config *to)
{
	bool other = from->n_patterns != to->n_patterns;

	for (size_t i = 0; !other && i < from->n_patterns; i++)
		other = strcmp(from->pattern[i], to->pattern[i]) != 0;
	return other;
}

/*
 * Compares what a login makes of the keyveto.conf that is there with what it
 * makes of text. False after a message.
 */
static bool
compare_conf(const struct sshd_file *f, const char *text, size_t len,
    struct conf_change *change)
{
	char why[KV_CONFIG_WHY_BYTES];
	struct kv_config from, to;
	enum kv_err a, b;

	/* Of a file with a mistake, the other lines hold. */
	a = kv_config_parse(f->now, f->now_len, f->path, &from, why);
	b = kv_config_parse(text, len, f->path, &to, why);
	change->looser = is_looser(&from, &to);
	change->stricter = is_looser(&to, &from);
	change->other_files = has_other_files(&from, &to);
	kv_config_free(&from);
	kv_config_free(&to);
	if (a != KV_ERR_MEMORY && b != KV_ERR_MEMORY)
		return true;
	return cli_error("%s", why);
}

/* Whether two paths are of one file, links resolved. */
static bool
is_same_file(const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX];

	return strcmp(a, b) == 0 ||
	    (system_file_resolve(a, x) && system_file_resolve(b, y) &&
		strcmp(x, y) == 0);
}

/* The file of r->files that path names; NULL for none. */
static const struct sshd_file *
find_file(const struct foreign *r, const char *path)
{
	const struct sshd_files *fs = r->files;
	const struct sshd_file *f = sshd_files_find(fs, path);

	for (size_t i = 0; f == NULL && i < fs->n; i++)
		if (fs->v[i]->there && is_same_file(path, fs->v[i]->path))
			f = fs->v[i];
	return f;
}

/* Whether the line is in r already: several services may include it. */
static bool
is_known(const struct foreign *r, const char *path, size_t number)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->line[i].number == number &&
		    is_same_file(r->line[i].path, path))
			return true;
	return false;
}

/*
 * Adds the line to r unless it is one of keyveto's. config is the file by which
 * its guard or module goes.
 */
static void
add_foreign(struct foreign *r, const char *path, size_t number, bool module,
    const char *config)
{
	const struct sshd_file *f = find_file(r, path);
	const size_t outside = f != NULL ?
	    sshd_block_line_outside(f->now, f->now_len, number) :
	    number;

	if ((f != NULL && outside == 0) || is_known(r, path, number))
		return;
	if (!room_for_one(&r->line, r->n, sizeof(*r->line)) ||
	    (r->line[r->n].path = strdup(path)) == NULL) {
		r->failed = true;
		return;
	}
	r->line[r->n].number = number;
	r->line[r->n].outside = outside;
	r->line[r->n].module = module;
	r->line[r->n].reads_conf = is_same_file(config, KV_CONFIG_PATH);
	r->n++;
}

static void
find_modules_in(struct foreign *r, const char *service)
{
	char why[SSHD_WHY_BYTES], config[PATH_MAX];
	struct pam_stack stack;

	/* PAM does not run lines that it cannot read. */
	(void)pam_stack_read(service, &stack, why, sizeof(why));
	for (size_t i = 0; i < stack.n; i++) {
		const struct pam_line *l = &stack.line[i];

		if (strcmp(pam_line_module(l), SSHD_MODULE) != 0)
			continue;
		pam_stack_config(l, config, sizeof(config));
		add_foreign(r, l->file, l->line, true, config);
	}
	pam_stack_free(&stack);
}

/*
 * Finds foreign lines of the module in all services: a second sshd, or a Match
 * block, may use another service than sshd_service.
 */
static void
find_modules(struct foreign *r, const char *sshd_service)
{
	static const char *const dirs[] = { SSHD_PAM_DIR, "/usr/lib/pam.d/" };
	char pattern[64];
	glob_t found;

	find_modules_in(r, sshd_service);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(pattern, sizeof(pattern), "%s*", dirs[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
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
		    !guard_command(l->value, &args))
			continue;
		(void)guard_config(args, config, sizeof(config));
		add_foreign(r, t->file[l->file].path, l->number, false, config);
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
	if (sshd_tree_read(&t, path, NULL, 0, why, sizeof(why)))
		find_guards_in(r, &t);
	sshd_tree_free(&t);
}

/*
 * Finds all foreign lines. False after a message. Always call free_foreign.
 */
static bool
find_foreign(struct foreign *r, const struct sshd_files *files,
    const struct sshd_tree *now, const char *service)
{
	const struct sshd_arguments other = {
		.arg = r,
		.file = find_guards_of_other,
	};

	*r = (struct foreign){ .files = files };
	find_modules(r, service);
	find_guards_in(r, now);
	(void)sshd_arguments_find(&other);
	if (r->failed)
		cli_error("%s", strerror(ENOMEM));
	return !r->failed;
}

static void
free_foreign(struct foreign *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->line[i].path);
	free(r->line);
}

/* Whether a foreign guard, or else a foreign module, goes by KV_CONFIG_PATH. */
static bool
any_reads_conf(const struct foreign *r, bool module)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->line[i].reads_conf && r->line[i].module == module)
			return true;
	return false;
}

/* Names each line; if disable goes on, by the number that it will have. */
static void
report_staying(const struct foreign *r, bool goes_on)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct foreign_line *l = &r->line[i];

		cli_error("%s%s:%zu: %s stays: this line is not one of "
			  "keyveto's",
		    goes_on ? "note: " : "", l->path,
		    goes_on ? l->outside : l->number,
		    l->module ? SSHD_MODULE : "the guard");
	}
}

bool
sshd_foreign_lines_allow(const struct sshd_files *files,
    const struct sshd_tree *now, const char *service)
{
	const struct sshd_file *f = sshd_files_find(files, KV_CONFIG_PATH);
	struct conf_change change;
	struct foreign r;
	bool ok = false, guard, module;

	if (!find_foreign(&r, files, now, service) ||
	    !compare_conf(f, f->base, f->base_len, &change))
		goto out;
	guard = any_reads_conf(&r, false);
	module = any_reads_conf(&r, true);
	ok = !((guard || module) && change.stricter) &&
	    !(guard && change.other_files);
	report_staying(&r, ok);
	if (!ok)
		cli_error(KV_CONFIG_PATH
		    ": without keyveto's lines there, what stays would %s; "
		    "nothing was changed. To keep it as it is, delete the two "
		    "marks around keyveto's lines in that file (# BEGIN "
		    "keyveto, # END keyveto) and run this again: the lines "
		    "then stay there%s",
		    change.stricter ?
			"refuse the keys that are only logged now" :
			"hand out other keys",
		    change.stricter && !guard ?
			". To be rid of it, delete the line of " SSHD_MODULE
			" first" :
			"");
out:
	free_foreign(&r);
	return ok;
}

static void
report_loosened(const struct foreign *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct foreign_line *l = &r->line[i];

		if (l->reads_conf)
			cli_error(
			    "%s:%zu: this line is not one of keyveto's, and "
			    "its %s goes by " KV_CONFIG_PATH
			    ": with --warn, it would let in keys that it "
			    "refuses now",
			    l->path, l->number,
			    l->module ? SSHD_MODULE : "guard");
	}
}

bool
sshd_foreign_lines_allow_warn(const struct sshd_files *files,
    const struct sshd_tree *now, const char *service)
{
	const struct sshd_file *f = sshd_files_find(files, KV_CONFIG_PATH);
	struct conf_change change;
	struct foreign r;
	bool ok = false;

	if (!find_foreign(&r, files, now, service) ||
	    !compare_conf(f, f->next, f->next_len, &change))
		goto out;
	ok = !change.looser ||
	    (!any_reads_conf(&r, false) && !any_reads_conf(&r, true));
	if (ok)
		goto out;
	report_loosened(&r);
	cli_error(
	    "nothing was changed. Leave out --warn: keyveto enable names "
	    "who would be refused, and stops then. Or give these lines a file "
	    "of their own, which goes on refusing: cp -pi " KV_CONFIG_PATH
	    " " OWN_CONFIG "; write --config " OWN_CONFIG " behind " GUARD_NAME
	    ", or config=" OWN_CONFIG " behind " SSHD_MODULE
	    "; reload sshd, and run this again");
out:
	free_foreign(&r);
	return ok;
}
