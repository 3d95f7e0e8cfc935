/* SPDX-License-Identifier: ISC */
/*
 * An -o option overrides sshd_config, so that keyveto's lines have no effect,
 * or not the one that "sshd -T" shows. An sshd with another file (-f) may
 * include the files that enable writes, and enable has not looked at that
 * sshd's accounts.
 */
#include "sshd/reasons.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "host/system_file.h"
#include "kv_config.h"
#include "sshd_config/arguments.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/words.h"

struct started {
	const char *dump;		      /* "sshd -T" about the files */
	const struct sshd_files *files;	      /* enable writes them */
	const struct sshd_settings *settings; /* the same, parsed */
	bool option; /* an -o option overrides the files */
	bool bad;    /* the answer is no */
};

/* Whether path is SSHD_TREE_TOP, links resolved. */
static bool
is_usual_file(const char *path)
{
	char its[PATH_MAX], usual[PATH_MAX];

	if (strcmp(path, SSHD_TREE_TOP) == 0)
		return true;
	return *path == '/' && system_file_resolve(path, its) &&
	    system_file_resolve(SSHD_TREE_TOP, usual) &&
	    strcmp(its, usual) == 0;
}

static void
check_option(void *arg, const struct sshd_start *start, const char *keyword,
    const char *value)
{
	const unsigned int is = sshd_keyword(keyword);
	struct started *s = arg;

	/* enable writes no switch: it may stand there if the files agree. */
	if (!(is & SSHD_KEYWORD_DECIDES) ||
	    ((is & SSHD_KEYWORD_SWITCH) &&
		sshd_text_is(s->dump, keyword, value)))
		return;
	/* check_file prints a message about an sshd with another file. */
	if (start->file != NULL && !is_usual_file(start->file))
		return;
	cli_error("%s: -o %s=%s counts before " SSHD_TREE_TOP, start->place,
	    keyword, value);
	s->option = s->bad = true;
}

/*
 * Whether a pattern of an Include line matches a file, which need not exist
 * yet. place is the file's path, links resolved.
 */
static bool
include_matches(const struct sshd_line *l, const char *place)
{
	char *value = strdup(l->value), *rest = value;
	char folder[PATH_MAX], its[PATH_MAX];
	const char *word, *name;
	bool found = value == NULL;
	glob_t folders;

	while (!found && (word = sshd_words_next(&rest)) != NULL) {
		if (strlen(word) + sizeof("/etc/ssh/") >= PATH_MAX)
			continue;
		snprintf(folder, sizeof(folder), "%s%s",
		    *word == '/' ? "" : "/etc/ssh/", word);
		name = strrchr(word, '/') != NULL ?
		    strrchr(word, '/') + 1 :
		    word;
		folder[strlen(folder) - strlen(name)] = '\0';
		if (glob(folder, 0, NULL, &folders) != 0)
			continue;
		for (size_t i = 0; i < folders.gl_pathc && !found; i++)
			found = system_file_resolve(folders.gl_pathv[i], its) &&
			    strncmp(place, its, strlen(its)) == 0 &&
			    place[strlen(its)] == '/' &&
			    fnmatch(name, place + strlen(its) + 1,
				FNM_PATHNAME | FNM_PERIOD) == 0;
		globfree(&folders);
	}
	free(value);
	return found;
}

/* Whether a tree includes the file, or would once the file exists. */
static bool
tree_includes(const struct sshd_tree *t, const struct sshd_file *f)
{
	char place[PATH_MAX], its[PATH_MAX];

	if (!system_file_resolve(f->path, place))
		snprintf(place, sizeof(place), "%s", f->path);
	for (size_t i = 0; i < t->n_files; i++)
		if (strcmp(t->file[i].path, f->path) == 0 ||
		    (system_file_resolve(t->file[i].path, its) &&
			strcmp(its, place) == 0))
			return true;
	for (size_t i = 0; i < t->n_lines; i++)
		if (strcasecmp(t->line[i].keyword, "Include") == 0 &&
		    include_matches(&t->line[i], place))
			return true;
	return false;
}

/*
 * Whether nothing that enable writes affects an sshd that reads this tree.
 * False after a message.
 */
static bool
tree_is_unaffected(const struct started *s, const struct sshd_start *start,
    const char *path, const struct sshd_tree *t)
{
	const struct sshd_files *fs = s->files;
	char config[PATH_MAX];
	const char *args;

	for (size_t i = 0; i < fs->n; i++) {
		const struct sshd_file *f = fs->v[i];

		/* Files that enable does not write affect nothing. */
		if (f->whose != SSHD_FILE_SSHDS ||
		    (f->next == NULL && f->blocks == 0) || !tree_includes(t, f))
			continue;
		return cli_error(
		    "%s: its configuration is %s, which includes %s, where "
		    "keyveto's lines for another sshd go; nothing was changed: "
		    "%suse --pam alone, which writes no file of sshd's",
		    start->place, path, f->path,
		    sshd_files_have_lines(fs, SSHD_FILE_SSHDS) ?
			"run 'keyveto disable --reload', then " :
			"");
	}
	for (size_t i = 0; i < t->n_lines; i++) {
		const struct sshd_line *l = &t->line[i];

		if (!guard_command(l->value, &args) ||
		    (guard_config(args, config, sizeof(config)) &&
			strcmp(config, KV_CONFIG_PATH) != 0))
			continue;
		return cli_error(
		    "%s: %s:%zu: the guard is called here, and would go by the "
		    "lines in " KV_CONFIG_PATH " that are meant for another "
		    "sshd; nothing was changed: give it a copy of that file "
		    "there (--config FILE), reload that sshd, and run this "
		    "again",
		    start->place, t->file[l->file].path, l->number);
	}
	return true;
}

/* Whether nothing affects an sshd with that -f. False after a message. */
static bool
file_is_unaffected(const struct started *s, const struct sshd_start *start,
    const char *path)
{
	struct sshd_change *change;
	char why[SSHD_WHY_BYTES];
	struct sshd_tree t;
	size_t n;
	bool ok;

	/* sshd reads no file with "-f none". */
	if (strcmp(path, "none") == 0)
		return true;
	if (*path != '/')
		return cli_error(
		    "%s: its configuration is %s, and nobody can tell where "
		    "that is: start it with the whole path, and run this again",
		    start->place, path);
	if ((change = sshd_files_changes(s->files, true, &n)) == NULL)
		return cli_error("%s", strerror(errno));
	ok = sshd_tree_read(&t, path, change, n, why, sizeof(why));
	if (!ok)
		cli_error("%s: its configuration is %s, and whether that "
			  "includes keyveto's lines cannot be told: %s",
		    start->place, path, why);
	ok = ok && tree_is_unaffected(s, start, path, &t);
	sshd_tree_free(&t);
	free(change);
	return ok;
}

static void
check_file(void *arg, const struct sshd_start *start, const char *path)
{
	struct started *s = arg;

	/* Only the last -f counts: start->file, or unknown if that is NULL. */
	if (is_usual_file(path) ||
	    (start->file != NULL && strcmp(path, start->file) != 0))
		return;
	if (!file_is_unaffected(s, start, path))
		s->bad = true;
	else
		cli_error("note: %s: its configuration is %s, where no line of "
			  "keyveto's goes: the guard does not judge its keys; "
			  "the module does, if its PAM service is %s",
		    start->place, path, sshd_service(s->settings));
}

static void
check_name(void *arg, const struct sshd_start *start, const char *name)
{
	struct started *s = arg;

	if (*s->settings->service != '\0' ||
	    strcmp(name, sshd_service(s->settings)) == 0)
		return;
	cli_error("note: %s: its PAM service is %s, by the name that it was "
		  "started by: PAM does not ask the module in %s for it",
	    start->place, name, sshd_service(s->settings));
}

static void
note_unseen(void *arg, const char *place, const char *why)
{
	(void)arg;
	cli_error("note: %s: %s", place, why);
}

bool
sshd_started_allows(const struct sshd_files *files, const char *dump,
    const struct sshd_settings *settings)
{
	struct started s = { .files = files,
		.dump = dump,
		.settings = settings };
	const struct sshd_arguments found = {
		.arg = &s,
		.option = check_option,
		.file = check_file,
		.name = check_name,
		.unseen = note_unseen,
	};

	(void)sshd_arguments_find(&found);
	if (s.option &&
	    (sshd_files_have_lines(files, SSHD_FILE_SSHDS) ||
		sshd_files_have_lines(files, SSHD_FILE_PAMS)))
		cli_error("nothing was changed: " SSHD_ARGUMENTS_REMEDY);
	else if (s.option)
		cli_error(
		    "nothing was changed: take each such option out of "
		    "the service's arguments, write it at the top of " SSHD_TREE_TOP
		    " (%%%% in a unit is %% there), restart "
		    "sshd, and run this again");
	return !s.bad;
}
