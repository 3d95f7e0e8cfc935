/* SPDX-License-Identifier: ISC */
/* keyveto disable: removes keyveto's lines. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/replace.h"
#include "sshd/base.h"
#include "sshd/reasons.h"
#include "sshd/result.h"
#include "sshd/state.h"
#include "sshd_config/arguments.h"
#include "sshd_config/block.h"

/* Whether the program that would be asked is missing. */
static bool
lacks_sshd(const struct sshd_options *o)
{
	return access(o->sshd, F_OK) == -1;
}

static bool
lacks_top(const struct sshd_files *files)
{
	return !sshd_files_find(files, SSHD_TREE_TOP)->was_there;
}

/*
 * Whether sshd would start without keyveto's lines. False after a message.
 * True, after a warning, if sshd would not start with them either.
 */
static bool
sshd_would_start(const struct sshd_options *o, struct sshd_copy *now,
    struct sshd_copy *base)
{
	char why[SSHD_WHY_BYTES], before[SSHD_WHY_BYTES];

	if (lacks_sshd(o)) {
		cli_error("note: %s: not there: sshd cannot be asked whether "
			  "it would start without keyveto's lines",
		    o->sshd);
		return true;
	}
	/* After the warning of sshd_base_read. */
	if (base->top == NULL ||
	    sshd_copy_is_valid(o->sshd, base, why, sizeof(why)))
		return true;
	if (sshd_copy_is_valid(o->sshd, now, before, sizeof(before)))
		return cli_error("%s; nothing was changed", why);
	cli_error("warning: %s; this is not because of keyveto: sshd would not "
		  "start with keyveto's lines either",
	    why);
	return true;
}

/*
 * Whether sshd takes keys from the same places without keyveto's lines, or --yes
 * or --dry-run is given. False after a message. This is the way back: where sshd
 * gives no answer, true after a note.
 */
static bool
keeps_sources(const struct sshd_options *o, const struct sshd_files *files,
    struct sshd_copy *now, struct sshd_copy *base)
{
	enum sshd_sources s = lacks_sshd(o) ?
	    SSHD_SOURCES_UNKNOWN :
	    sshd_sources_compare(o, now, base, false);

	if (s == SSHD_SOURCES_UNKNOWN)
		cli_error("note: sshd gives no answer: whether it would take "
			  "keys from the same places without keyveto's lines "
			  "was not compared");
	if (s != SSHD_SOURCES_OTHER || o->yes || o->dry_run)
		return true;
	sshd_sources_advise(files, "To keep what counts now",
	    "; or go on with --yes");
	return false;
}

/* Notes where a file has changed since enable kept it as k. */
static void
note_change(const struct sshd_file *f, const struct sshd_kept *k)
{
	const char *change;

	if (!k->there && f->base_len > 0)
		change = "has other lines than keyveto's by now: the file "
			 "stays";
	else if (k->there && f->blocks > 0 &&
	    (k->len != f->base_len || memcmp(k->text, f->base, k->len) != 0))
		change = "was changed since keyveto was enabled: only "
			 "keyveto's lines were taken out";
	else if (k->there && f->blocks == 0 && f->there)
		change = "keyveto's lines were not in it any more";
	else if (k->there && !f->there)
		change = "is not there any more: keyveto does not put it back";
	else
		return;
	cli_error("note: %s: %s", f->path, change);
}

/*
 * Removes keyveto's lines from these files. Adds the number of files to *np.
 * False after a message.
 */
static bool
remove_lines(struct sshd_files *fs, enum sshd_file_owner whose, size_t *np)
{
	for (size_t i = 0; i < fs->n; i++) {
		struct sshd_file *f = fs->v[i];

		if (f->blocks == 0 || f->whose != whose)
			continue;
		++*np;
		if (!sshd_file_write(f, f->base, f->base_len))
			return false;
	}
	return true;
}

/* Whether each file can be replaced, so that nothing ends half-way. */
static bool
can_replace_all(const struct sshd_files *fs)
{
	struct replace r;
	bool ok = true;

	for (size_t i = 0; i < fs->n; i++)
		if (fs->v[i]->blocks > 0) {
			ok &= replace_find(&r, fs->v[i]->path);
			replace_close(&r);
		}
	return ok ||
	    cli_error("nothing was changed: make each such file a plain file "
		      "of root's, or chown -h root the link and chmod go-w "
		      "its folder, and run this again");
}

/* Notes that a process cannot be seen. Units and defaults do not count. */
static void
note_unseen(void *arg, const char *place, const char *why)
{
	bool *unseenp = arg;

	*unseenp |= strncmp(place, "/proc", 5) == 0;
	(void)why;
}

/* Whether an sshd listens here, or whether that cannot be seen. */
static bool
any_listens(void)
{
	bool unseen = false;
	const struct sshd_arguments found = {
		.arg = &unseen,
		.unseen = note_unseen,
	};

	return sshd_arguments_find(&found) > 0 || unseen;
}

/*
 * Reloads sshd. True, after a note, if there is none to reload. False after a
 * message. If sshd's program or SSHD_TREE_TOP is missing, a reload would end an
 * sshd that still listens, and nobody could log in.
 */
static bool
reload(const struct sshd_options *o, const struct sshd_files *files,
    const char *dump)
{
	const char *missing = lacks_top(files) ? SSHD_TREE_TOP : o->sshd;

	if (!lacks_top(files) && !lacks_sshd(o)) {
		if (dump != NULL && sshd_reload(dump))
			return true;
		return cli_error(sshd_files_have_lines(files, SSHD_FILE_PAMS) ||
			    sshd_files_have_lines(files, SSHD_FILE_KEYVETOS) ?
			"PAM's lines and those in "
			"keyveto.conf stay for now: reload sshd, then run this "
			"again without --reload" :
			"sshd was not reloaded: reload "
			"it, then run this again without --reload");
	}
	if (!any_listens()) {
		cli_error("note: %s: not there, and no sshd runs: there is "
			  "nothing to reload",
		    missing);
		return true;
	}
	return cli_error(
	    "%s: not there: a reload would end the sshd that runs here, and "
	    "nobody could log in; it was not reloaded. PAM's lines and those "
	    "in keyveto.conf stay for now: install sshd again, then run this "
	    "again",
	    missing);
}

/* Whether one of the lines of text is this one, of n bytes. */
static bool
has_line(const char *text, const char *line, size_t n)
{
	for (size_t len; *text != '\0'; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (len == n && memcmp(text, line, n) == 0)
			return true;
	}
	return false;
}

/* Prints the lines between keyveto's marks that are not in the file any more. */
static void
print_taken_out(const struct sshd_file *f)
{
	char why[256], *lines;
	size_t len, n, blocks;

	lines = sshd_block_lines(f->found, f->found_len, &len, &blocks, why,
	    sizeof(why));
	for (const char *line = lines; lines != NULL && *line != '\0';
	     line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		if (f->there && has_line(f->now, line, n))
			continue;
		fputs("  ", stdout);
		cli_print_safe(stdout, line, n);
		putchar('\n');
	}
	free(lines);
}

/*
 * Prints what was done to each file. guard: an sshd that was not reloaded may
 * still run the guard.
 */
static void
print_result(const struct sshd_files *fs, bool guard, bool reloaded)
{
	bool any = false;

	for (size_t i = 0; i < fs->n; i++) {
		const struct sshd_file *f = fs->v[i];

		if (f->found == NULL)
			continue;
		any = true;
		if (f->there)
			printf("%s: keyveto's lines taken out\n", f->path);
		else
			printf("%s: removed\n", f->path);
		print_taken_out(f);
	}
	if (!any)
		puts("no keyveto lines found");
	if (reloaded)
		puts("sshd has read its configuration again; log in a second "
		     "time to see that it works");
	else if (guard)
		puts("sshd runs the guard until it is reloaded, and the guard "
		     "reads keyveto.conf without these lines: run systemctl "
		     "reload ssh now");
	if (any)
		puts("what keyveto enable wrote guards sshd no more: "
		     "listed keys get in, unless other lines refuse them");
}

static int
remove_all(const struct sshd_options *o, struct sshd_copy *now,
    struct sshd_files *files, const struct sshd_state *kept,
    struct sshd_base *base, struct sshd_result *result)
{
	const bool gone = lacks_top(files) || lacks_sshd(o);
	size_t removed = 0;
	bool guard = false;

	if (!can_replace_all(files) || !sshd_base_read(base, o, files, false) ||
	    !sshd_would_start(o, now, &base->copy) ||
	    !sshd_base_keeps_keys(base, o, now) ||
	    !sshd_foreign_lines_allow(files, &now->tree,
		sshd_service(base->settings)))
		return CLI_UNCHECKED;
	if (sshd_files_have_lines(files, SSHD_FILE_SSHDS) &&
	    !keeps_sources(o, files, now, &base->copy))
		return SSHD_NOT_DONE;
	for (size_t i = 0; i < kept->n; i++) {
		const struct sshd_kept *k = &kept->v[i];
		const struct sshd_file *f = sshd_files_find(files, k->path);

		note_change(f, k);
		guard |= f->whose == SSHD_FILE_SSHDS;
	}
	guard |= sshd_files_have_lines(files, SSHD_FILE_SSHDS);
	/* Without the file, a guard that still runs refuses every key. */
	if (guard && !o->reload)
		sshd_files_find(files, KV_CONFIG_PATH)->made = false;
	result->planned = true;
	if (o->dry_run) {
		for (size_t i = 0; !o->json && i < files->n; i++)
			if (files->v[i]->blocks > 0)
				printf("%s\n", files->v[i]->path);
		return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
	}
	/*
	 * keyveto.conf comes last. After --warn, its lines keep a guard and a
	 * module that still run from refusing keys.
	 */
	if (!remove_lines(files, SSHD_FILE_SSHDS, &removed))
		return CLI_UNCHECKED;
	/* An earlier run may have removed sshd's lines without a reload. */
	if (o->reload && !reload(o, files, base->dump))
		return CLI_UNCHECKED;
	result->reloaded = o->reload;
	if (!remove_lines(files, SSHD_FILE_PAMS, &removed) ||
	    !remove_lines(files, SSHD_FILE_KEYVETOS, &removed) ||
	    !sshd_state_remove())
		return CLI_UNCHECKED;
	if (o->json)
		return 0;
	print_result(files, guard && !gone, o->reload && !gone);
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

static int
disable(const struct sshd_options *o, struct sshd_copy *now,
    struct sshd_files *files, const struct sshd_state *kept)
{
	struct sshd_result result = { .what = "disable",
		.dry_run = o->dry_run };
	struct sshd_base base = { 0 };
	int status = remove_all(o, now, files, kept, &base, &result);

	if (o->json && !sshd_result_print(&result, files, status))
		status = CLI_UNCHECKED;
	sshd_base_close(&base);
	return status;
}

static int
run_disable(const struct cli_command *cmd, int argc, char **argv)
{
	return sshd_change(cmd, argc, argv, false, disable);
}

const struct cli_command cli_disable = {
	.name = "disable",
	.section = 8,
	.page = "enable",
	.synopsis = "[--yes] [--dry-run] [--json] [--reload] [--sshd PATH]",
	.help = "Take keyveto out of sshd and PAM again",
	.details =
	    "  --yes            go on although sshd would take keys from other "
	    "places\n"
	    "  --dry-run        print the files with keyveto's lines, and "
	    "change nothing\n"
	    "  --json           print what changes as a JSON object\n"
	    "  --reload         reload sshd in the end\n"
	    "  --sshd PATH      ask this sshd (default " SSHD_PATH ")\n",
	.run = run_disable,
};
