/* SPDX-License-Identifier: ISC */
#include "config/editor.h"

#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
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

bool
editor_run(const char *path)
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
	if (value != NULL && (copy = strdup(value)) == NULL) {
		cli_error("%s", strerror(errno));
		return false;
	}
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
