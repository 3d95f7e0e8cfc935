/* SPDX-License-Identifier: ISC */
#include "config/editor.h"

#include <sys/wait.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/program.h"

#define WORDS_MAX 64
#define BLANKS " \t\n"

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

static const char *
chosen_editor(const char **variablep)
{
	static const char *const variables[] = { "VISUAL", "EDITOR" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *value = getenv(variables[i]);

		*variablep = variables[i];
		if (value != NULL && value[strspn(value, BLANKS)] != '\0')
			return value;
	}
	*variablep = NULL;
	return NULL;
}

/* Whether the editor ended with status 0. False after a message. */
static bool
report_exit(int error, int status, const char *name)
{
	if (error != 0)
		cli_error("%s: cannot be run: %s; name an editor in VISUAL "
			  "or EDITOR",
		    name, strerror(error));
	else if (WIFSIGNALED(status))
		cli_error("%s: the editor was ended by signal %d", name,
		    WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		cli_error("%s: the editor ended with status %d", name,
		    WEXITSTATUS(status));
	else
		return true;
	return false;
}

/*
 * Runs the n words, or the first fallback that exists, on path. Returns 0 with
 * *statusp, or an errno.
 */
static int
run_words(const char **word, int n, const char *path, int *statusp)
{
	struct program editor = {
		.argv = word,
		.env = environ,
		.has_terminal = true,
	};
	int error = ENOENT;

	program_fds(&editor, STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO);
	if (n > 0) {
		word[n] = path;
		word[n + 1] = NULL;
		return program_run(&editor, statusp);
	}
	for (size_t i = 0;
	     error == ENOENT && i < sizeof(fallbacks) / sizeof(fallbacks[0]);
	     i++) {
		word[0] = fallbacks[i];
		word[1] = path;
		word[2] = NULL;
		error = program_run(&editor, statusp);
	}
	return error;
}

bool
editor_run(const char *path)
{
	const char *variable, *value = chosen_editor(&variable);
	char *copy = strdup(value != NULL ? value : "");
	const char *word[WORDS_MAX + 2];
	int n, error, status = 0;
	bool ok = false;

	if (copy == NULL)
		cli_error("%s", strerror(errno));
	else if ((n = split_command(copy, word)) == -1)
		cli_error(
		    "%s: %s: no command can be made of it: a quote is open, or "
		    "it has too many words",
		    variable, value);
	else {
		fflush(stdout);
		error = run_words(word, n, path, &status);
		ok = report_exit(error, status, word[0]);
	}
	free(copy);
	return ok;
}
