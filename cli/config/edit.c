/* SPDX-License-Identifier: ISC */
/*
 * keyveto config edit: edits a copy of keyveto.conf, and checks the copy before
 * it replaces the file.
 */
#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "config/copy.h"
#include "config/findings.h"
#include "host/change.h"
#include "host/program.h"
#include "base/io.h"
#include "host/memory.h"
#include "sshd_config/block.h"
#include "ways/asks.h"

#define WORDS_MAX 64
#define BLANKS " \t\n"
#define LOST_LINES_SHOWN 20

struct edit {
	const char *path;
	char place[PATH_MAX];
	bool yes;
	bool terminal;		 /* standard input is a terminal */
	bool there;		 /* the file exists */
	bool continued;		 /* the copy is one that was left */
	struct config_text base; /* the file's text at the start */
	struct config_readers readers;
	struct config_copy copy;
};

/* --- the editor --------------------------------------------------------- */

/* Tried in this order if neither variable is set. */
static const char *const fallbacks[] = { "sensible-editor", "editor", "vi" };

/*
 * Splits a command into words, in place. Quotes and backslashes protect blanks,
 * as in a shell. Returns the number of words; -1 if a quote is not closed, or
 * there are more than WORDS_MAX.
 */
static int
split_command(char *in, const char *word[static WORDS_MAX])
{
	int n = 0;

	for (;;) {
		char quote = '\0', *out;

		in += strspn(in, BLANKS);
		if (*in == '\0')
			return n;
		if (n == WORDS_MAX)
			return -1;
		word[n++] = out = in;
		for (; *in != '\0' &&
		     (quote != '\0' || strchr(BLANKS, *in) == NULL);
		     in++) {
			if (quote == '\0' && (*in == '"' || *in == '\''))
				quote = *in;
			else if (quote != '\0' && *in == quote)
				quote = '\0';
			else if (*in == '\\' && quote != '\'' && in[1] != '\0')
				*out++ = *++in;
			else
				*out++ = *in;
		}
		if (quote != '\0')
			return -1;
		if (*in != '\0')
			in++;
		*out = '\0';
	}
}

static void
ignore_signal(int sig)
{
	(void)sig;
}

/* Runs word, while ^C and ^\ end only the editor. As program_run. */
static int
run_on_terminal(const char *const *word, int *statusp)
{
	/* Unlike SIG_IGN, the editor does not inherit a handler. */
	const struct sigaction ignore = { .sa_handler = ignore_signal };
	static const int signals[] = { SIGINT, SIGQUIT };
	struct program editor = { .argv = word, .env = environ };
	struct sigaction was[2];
	int error;

	program_fds(&editor, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
	for (size_t i = 0; i < 2; i++) {
		sigaction(signals[i], NULL, &was[i]);
		if (was[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &ignore, NULL);
	}
	error = program_run(&editor, statusp);
	for (size_t i = 0; i < 2; i++)
		sigaction(signals[i], &was[i], NULL);
	return error;
}

/*
 * Runs $VISUAL, else $EDITOR, else sensible-editor, editor or vi, on the file
 * at path, and waits for its end. The variables may have arguments, with quotes
 * around blanks; no shell is used. False after a message unless the editor
 * ended with status 0.
 */
static bool
run_editor(const char *path)
{
	static const char *const variables[] = { "VISUAL", "EDITOR" };
	const char *word[WORDS_MAX + 2], *variable = NULL, *value = NULL;
	int n = 0, error = ENOENT, status = 0;
	char *copy = NULL;
	bool ok = false;

	for (size_t i = 0; i < 2 && value == NULL; i++) {
		variable = variables[i];
		value = getenv(variable);
		if (value != NULL && value[strspn(value, BLANKS)] == '\0')
			value = NULL;
	}
	if (value != NULL && (copy = strdup(value)) == NULL)
		return cli_error("%s", strerror(errno));
	if (copy != NULL && (n = split_command(copy, word)) == -1) {
		cli_error(
		    "%s: %s: no command can be made of it: a quote is open, or "
		    "it has too many words",
		    variable, value);
		free(copy);
		return false;
	}
	fflush(stdout);
	if (n > 0) {
		word[n] = path;
		word[n + 1] = NULL;
		error = run_on_terminal(word, &status);
	}
	for (size_t i = 0; n == 0 && error == ENOENT &&
	     i < sizeof(fallbacks) / sizeof(fallbacks[0]);
	     i++) {
		word[0] = fallbacks[i];
		word[1] = path;
		word[2] = NULL;
		error = run_on_terminal(word, &status);
	}
	if (error != 0)
		cli_error("%s: cannot be run: %s; name an editor in VISUAL "
			  "or EDITOR",
		    word[0], strerror(error));
	else if (WIFSIGNALED(status))
		cli_error("%s: the editor was ended by signal %d", word[0],
		    WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		cli_error("%s: the editor ended with status %d", word[0],
		    WEXITSTATUS(status));
	else
		ok = true;
	free(copy);
	return ok;
}

/* --- doubts about a valid change ---------------------------------------- */

static bool
refuses_all(const struct config_findings *f)
{
	return config_findings_no_verdict(f) && f->on_error == KV_ACTION_DENY;
}

/* The lines between the marks of "keyveto enable". */
struct marked {
	char *lines; /* NULL: the marks are not in pairs */
	size_t len, blocks;
	char why[256];
};

static bool
same_patterns(const struct kv_config *a, const struct kv_config *b)
{
	if (a->n_patterns != b->n_patterns)
		return false;
	for (size_t i = 0; i < a->n_patterns; i++)
		if (strcmp(a->pattern[i], b->pattern[i]) != 0)
			return false;
	return true;
}

/*
 * Returns 1 after a message if the lines between the marks changed. If the
 * marks were broken before, the change cannot make it worse.
 */
static size_t
doubt_marks(const struct config_subject *now, const struct marked *was,
    const struct marked *is)
{
	if (was->lines == NULL)
		return 0;
	if (is->lines == NULL)
		cli_error("%s:%s", now->name, is->why);
	else if (is->blocks < was->blocks)
		cli_error(
		    "%s: the lines between keyveto's marks are gone; type "
		    "\"keyveto disable\" to remove them, together with "
		    "those of sshd and PAM",
		    now->name);
	else if (is->blocks != was->blocks || is->len != was->len ||
	    memcmp(is->lines, was->lines, is->len) != 0)
		cli_error(
		    "%s: lines between keyveto's marks were changed; \"keyveto "
		    "enable\", with or without --warn, writes them, and "
		    "\"keyveto disable\" removes all of them",
		    now->name);
	else
		return 0;
	return 1;
}

/* The first pattern of was that is does not have, or NULL. */
static const char *
lost_pattern(const struct kv_config *was, const struct kv_config *is)
{
	for (size_t i = 0; i < was->n_patterns; i++) {
		size_t k = 0;

		while (k < is->n_patterns &&
		    strcmp(was->pattern[i], is->pattern[k]) != 0)
			k++;
		if (k == is->n_patterns)
			return was->pattern[i];
	}
	return NULL;
}

/*
 * Prints a message for each setting by which the guard may pass over files that
 * it read before, and returns their number. The brake judges keys, and looks at
 * no file as the guard does. marked: sshd_config was taken over.
 */
static size_t
doubt_files(const struct config_subject *now, const struct kv_config *was,
    const struct kv_config *is, bool marked)
{
	const char *lost = lost_pattern(was, is);
	size_t n = 0;

	if (marked && !same_patterns(was, is)) {
		cli_error(
		    "%s: AuthorizedKeysFile differs from what sshd had when "
		    "keyveto was enabled: keys in the former files would no "
		    "longer be accepted",
		    now->name);
		n++;
	} else if (lost != NULL) {
		cli_error("%s: AuthorizedKeysFile no longer has %s: keys in "
			  "that file would no longer be accepted",
		    now->name, lost);
		n++;
	}
	if (is->wildcards != was->wildcards) {
		cli_error("%s: AuthorizedKeysFileWildcards differs: keys in "
			  "the files of before might no longer be accepted",
		    now->name);
		n++;
	}
	/* The strictest has the lowest number. */
	if (is->strictmodes < was->strictmodes) {
		cli_error("%s: StrictModes %s is stricter than before: keys in "
			  "a file that others may write to would no longer be "
			  "accepted",
		    now->name, kv_config_strictmodes_word(is->strictmodes));
		n++;
	}
	return n;
}

/*
 * Compares what a login made of the text before with what it would make of the
 * text now. Prints a message for each doubt, and returns their number. What was
 * already so before is not a doubt.
 */
static size_t
find_doubts(const struct config_subject *before,
    const struct config_findings *was, const struct config_subject *now,
    const struct config_findings *is)
{
	struct marked old, new;
	bool marked;
	size_t n = 0;

	if (refuses_all(is) &&
	    (!refuses_all(was) || (is->blind & ~was->blind) != 0)) {
		cli_error("%s: each login by key would be refused", now->name);
		n++;
	}
	old.lines = sshd_block_lines(before->text, before->len, &old.len,
	    &old.blocks, old.why, sizeof(old.why));
	new.lines = sshd_block_lines(now->text, now->len, &new.len, &new.blocks,
	    new.why, sizeof(new.why));
	n += doubt_marks(now, &old, &new);
	marked = old.lines != NULL && old.blocks > 0;
	if (marked || now->readers->files)
		n += doubt_files(now, &was->config, &is->config, marked);
	free(old.lines);
	free(new.lines);
	return n;
}

/* A part of a text; no NUL ends it. */
struct line {
	const char *text;
	size_t len;
};

/*
 * Reads the next line at *atp, without the blanks around it, and moves *atp
 * behind it. False at the end of the text.
 */
static bool
next_line(const struct config_text *t, size_t *atp, struct line *line)
{
	const char *p = t->text + *atp;
	const char *nl;
	size_t len;

	if (*atp >= t->len)
		return false;
	nl = memchr(p, '\n', t->len - *atp);
	len = nl != NULL ? (size_t)(nl - p) : t->len - *atp;
	*atp += len + 1;
	for (; len > 0 && strchr(" \t", *p) != NULL; len--)
		p++;
	while (len > 0 && strchr(" \t\r", p[len - 1]) != NULL)
		len--;
	*line = (struct line){ p, len };
	return true;
}

static bool
has_line(const struct config_text *t, struct line wanted)
{
	struct line line;
	size_t at = 0;

	while (next_line(t, &at, &line))
		if (line.len == wanted.len &&
		    memcmp(line.text, wanted.text, line.len) == 0)
			return true;
	return false;
}

/*
 * Prints each line with a setting that the file has and the text does not, and
 * returns their number. A copy that was left was not made from the file of
 * today: somebody may have added them meanwhile.
 */
static size_t
doubt_lost_lines(const struct edit *e, const struct config_text *t)
{
	struct line line;
	size_t n = 0, at = 0, number = 0;

	while (next_line(&e->base, &at, &line)) {
		number++;
		if (line.len == 0 || line.text[0] == '#' || has_line(t, line))
			continue;
		if (n++ < LOST_LINES_SHOWN)
			cli_error("%s:%zu: the text that was left lacks this "
				  "line, which may be newer: %.*s",
			    e->path, number, (int)line.len, line.text);
	}
	if (n > LOST_LINES_SHOWN)
		cli_error("%s: it lacks %zu more lines", e->path,
		    n - LOST_LINES_SHOWN);
	return n;
}

/* --- questions ---------------------------------------------------------- */

enum answer { EDIT_AGAIN, LEAVE, SAVE, KEEP_COPY };

/*
 * Asks until a line from standard input begins with one of letters. Returns
 * that letter; '\0' at the end of input.
 */
static char
ask_letter(const char *question, const char *help, const char *letters)
{
	char first, c;
	ssize_t n;

	for (;;) {
		fprintf(stderr, "%s ", question);
		fflush(stderr);
		for (first = '\0', c = ' '; c != '\n';) {
			n = read(STDIN_FILENO, &c, 1);
			if (n == -1 && errno == EINTR)
				continue;
			if (n != 1) {
				putc('\n', stderr);
				return '\0';
			}
			if (first == '\0')
				first = c;
		}
		if (first != '\0' && strchr(letters, first) != NULL)
			return first;
		fputs(help, stderr);
	}
}

static enum answer
ask_what_now(bool may_save)
{
	char c = may_save ?
	    ask_letter(
		"What now? (e)dit again, (x)it without saving, (s)ave all the "
		"same, (?)",
		"  e  run the editor again\n"
		"  x  leave the file as it was, and drop the change\n"
		"  s  save, in spite of what is said above\n",
		"exs") :
	    ask_letter("What now? (e)dit again, (x)it without saving, (?)",
		"  e  run the editor again\n"
		"  x  leave the file as it was, and drop the change\n",
		"ex");

	return c == 'e' ? EDIT_AGAIN :
	    c == 's'	? SAVE :
	    c == 'x'	? LEAVE :
			  KEEP_COPY;
}

/*
 * Asks (host/change) whether the text may take effect. If all verdicts end with
 * it there is nothing to ask: find_doubts says so. If there were none before,
 * AllowKey lines may let people in, and a file that one user of the guard
 * cannot read another one may. *mistakenp: logins consult the file as a list.
 */
static bool
may_take_effect(const struct edit *e, const struct config_text *t,
    const struct config_findings *was, const struct config_findings *is,
    bool *mistakenp)
{
	struct change c = {
		.kind = CHANGE_CONFIG,
		.path = e->path,
		.fd = -1,
		.what = "the change",
		.via = "config",
		.yes = e->yes,
		.silent = true,
	};
	struct change_effect effect = { .mistaken = false };
	bool may;

	if (refuses_all(is) && !refuses_all(was))
		return true;
	c.fd = memory_file("keyveto.conf");
	may = (c.fd != -1 && io_write(c.fd, t->text, t->len)) ||
	    cli_failed(e->path, "cannot be judged");
	may = may && change_may_take_effect(&c, &effect);
	*mistakenp = effect.mistaken;
	io_close(c.fd);
	return may;
}

static bool
is_blank(const struct config_text *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (strchr(BLANKS "\r", t->text[i]) == NULL ||
		    t->text[i] == '\0')
			return false;
	return true;
}

/*
 * Whether nothing is left of the file: an editor that failed may leave that, and
 * it would let in the keys of DenyKey lines. Prints a message then.
 */
static bool
is_emptied(const struct edit *e, const struct config_text *t)
{
	if (!is_blank(t) || is_blank(&e->base))
		return false;
	cli_error(
	    "%s: the editor left no text, and that is not saved; if every "
	    "default is to hold, leave a comment, such as # defaults",
	    e->copy.path);
	return true;
}

/* Checks the edited text. Asks if it has mistakes or doubts. */
static enum answer
decide_about(const struct edit *e, const struct config_text *t)
{
	struct config_subject before = {
		.name = e->path,
		.path = e->there ? e->place : NULL,
		.text = e->base.text,
		.len = e->base.len,
		.readers = &e->readers,
	};
	struct config_subject now = before;
	struct config_findings was, is;
	enum answer answer = LEAVE;
	bool ok, mistaken = false;
	size_t doubts;

	now.name = e->copy.path;
	now.text = t->text;
	now.len = t->len;
	now.found = config_findings_tell;
	ok = config_findings_make(&was, &before);
	ok = config_findings_make(&is, &now) && ok;
	if (!ok)
		answer = KEEP_COPY;
	else if (is.mistakes > 0)
		answer = e->terminal ? ask_what_now(false) : LEAVE;
	else {
		doubts = find_doubts(&before, &was, &now, &is);
		if (e->continued)
			doubts += doubt_lost_lines(e, t);
		doubts += !e->there && !config_may_be_made(e->path);
		doubts += !may_take_effect(e, t, &was, &is, &mistaken);
		if (mistaken)
			answer = e->terminal ? ask_what_now(false) : LEAVE;
		else if (doubts == 0 || e->yes)
			answer = SAVE;
		else if (e->terminal)
			answer = ask_what_now(true);
		else
			cli_error(
			    "%s: not saved, for what is said above; --yes "
			    "saves it all the same",
			    e->path);
	}
	config_findings_free(&was);
	config_findings_free(&is);
	return answer;
}

static void
print_where_text_is(const struct edit *e)
{
	cli_error(
	    "%s: unchanged; your text is kept in %s, and the next " CONFIG_EDIT_COMMAND
	    " asks about it",
	    e->path, e->copy.path);
}

/* Replaces the file, unless it changed meanwhile. Returns exit status. */
static int
save_text(const struct edit *e, const struct config_text *t)
{
	struct config_swap s;
	const struct asks *asks;
	bool ok = config_swap_open(&s, e->path);

	if (ok &&
	    ((s.r.old != -1) != e->there ||
		!config_text_is_same(&s.was, &e->base)))
		ok = cli_error(
		    "%s: somebody else changed it meanwhile; nothing was "
		    "written",
		    e->path);
	ok = ok && config_swap_commit(&s, t->text, t->len);
	config_swap_close(&s);
	if (!ok) {
		print_where_text_is(e);
		return CLI_UNCHECKED;
	}
	config_copy_remove(&e->copy);
	asks = asks_sshd(e->path);
	cli_printf(stdout, "%s: saved; %sit counts%s\n", e->path, asks->where,
	    asks->when);
	asks_print_note(asks);
	return cli_stdout_ok() ? 0 : CLI_UNCHECKED;
}

/*
 * Runs the editor and checks the text, until there is nothing more to edit.
 * Returns exit status.
 */
static int
edit_copy(const struct edit *e)
{
	struct config_text t;
	enum answer answer;
	bool ended_well, same;
	int status = CLI_UNCHECKED;

	do {
		ended_well = run_editor(e->copy.path);
		same = config_copy_read(&e->copy, &t) &&
		    config_text_is_same(&t, &e->base);
		if (t.text == NULL) {
			/* The person's text may be there all the same. */
			cli_error("%s: unchanged", e->path);
			break;
		}
		if (same && !ended_well)
			answer = LEAVE;
		else if (ended_well && is_emptied(e, &t))
			answer = e->terminal ? ask_what_now(false) : LEAVE;
		else if (ended_well)
			answer = decide_about(e, &t);
		else
			answer = e->terminal ? ask_what_now(false) : KEEP_COPY;
		if (answer == KEEP_COPY)
			print_where_text_is(e);
		else if (answer == LEAVE || (answer == SAVE && same)) {
			config_copy_remove(&e->copy);
			cli_error("%s: unchanged", e->path);
			status = answer == SAVE ? 0 : CLI_UNCHECKED;
		} else if (answer == SAVE)
			status = save_text(e, &t);
		free(t.text);
	} while (answer == EDIT_AGAIN);
	return status;
}

/*
 * Makes the copy, and edits it. Asks what to do with a copy that a killed run
 * left.
 */
static int
edit_with_copy(struct edit *e)
{
	enum config_copy_made made = config_copy_make(&e->copy, &e->base);
	char c;

	if (made == CONFIG_COPY_THERE) {
		cli_error("%s: left by an edit that did not come to its end",
		    e->copy.path);
		if (!e->terminal) {
			cli_error(
			    "compare it with %s, then move it away, or run " CONFIG_EDIT_COMMAND
			    " on a terminal, which asks",
			    e->path);
			return CLI_UNCHECKED;
		}
		c = ask_letter(
		    "(c)ontinue with it, (d)elete it and begin anew, (x)it, "
		    "(?)",
		    "  c  edit that text, and save it in the place of the "
		    "file\n"
		    "  d  delete it, and edit the file as it is now\n"
		    "  x  leave both as they are\n",
		    "cdx");
		if (c == 'd') {
			config_copy_remove(&e->copy);
			made = config_copy_make(&e->copy, &e->base);
		} else if (c != 'c')
			return CLI_UNCHECKED;
		e->continued = c == 'c';
	}
	return made == CONFIG_COPY_FAILED ? CLI_UNCHECKED : edit_copy(e);
}

static int
edit_file(struct edit *e)
{
	int status = CLI_UNCHECKED;

	if (!config_absolute(e->path, e->place, sizeof(e->place)) ||
	    !config_may_be_changed(e->place))
		return status;
	e->terminal = isatty(STDIN_FILENO) == 1;
	/* Read the file with the lock held, when no other edit is running. */
	if (config_copy_open(&e->copy, e->path) &&
	    config_read_file(e->path, &e->base, &e->there) &&
	    config_text_is_whole(&e->base, e->path)) {
		if (!e->there)
			cli_error("note: %s: does not exist yet", e->path);
		config_readers_find(&e->readers, e->place);
		status = edit_with_copy(e);
	}
	config_copy_close(&e->copy);
	free(e->base.text);
	return status;
}

static int
run_config_edit(const struct cli_command *cmd, int argc, char **argv)
{
	struct edit e = { .path = KV_CONFIG_PATH };
	const struct cli_option options[] = {
		{ .name = "config", .text = &e.path },
		{ .name = "yes", .flag = &e.yes },
		{ .name = NULL },
	};
	const int status = cli_read_options(cmd, argc, argv, options, NULL);

	if (status != -1)
		return status;
	if (optind < argc) {
		cli_error("%s takes no argument %s; name a file with --config",
		    cmd->name, argv[optind]);
		return cli_usage_error(cmd);
	}
	return edit_file(&e);
}

const struct cli_command config_edit = {
	.name = "config edit",
	.section = 8,
	.synopsis = "[--yes] [--config FILE]",
	.help = "Edit keyveto.conf; a mistake is never installed",
	.details =
	    "  --yes            save what has no mistake, although people may "
	    "be locked out\n"
	    "  --config FILE    edit FILE (default " KV_CONFIG_PATH ")\n",
	.run = run_config_edit,
};
