/* SPDX-License-Identifier: ISC */
#include "config/editor.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

#define WORDS_MAX 64
#define BLANKS " \t\n"

/* Used one after the other where neither variable names an editor. */
static const char *const fallbacks[] = { "sensible-editor", "editor", "vi" };

/*
 * Cuts a command into words in place; quotes and backslashes hold blanks, as in
 * a shell. Returns the number of words, or -1.
 */
static int
split_command(char *in, char *word[static WORDS_MAX])
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
		for (; *in != '\0' && (quote != '\0' ||
		    strchr(BLANKS, *in) == NULL); in++) {
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

/* In the child: does not return. The error goes to the parent by the pipe. */
static void
become_editor(char *word[], int n, const char *path, int report)
{
	char *argv[WORDS_MAX + 2];
	int error;

	for (int i = 0; i < n; i++)
		argv[i] = word[i];
	argv[n] = (char *)path;
	argv[n + 1] = NULL;
	if (n > 0)
		execvp(argv[0], argv);
	for (size_t i = 0; n == 0 && i < sizeof(fallbacks) /
	    sizeof(fallbacks[0]); i++) {
		argv[0] = (char *)fallbacks[i];
		argv[1] = (char *)path;
		argv[2] = NULL;
		execvp(argv[0], argv);
		if (errno != ENOENT)
			break;
	}
	error = errno;
	(void)!write(report, &error, sizeof(error));
	_exit(127);
}

/* Waits for the editor; false after a message. */
static bool
wait_for(pid_t pid, int report, const char *name)
{
	int status, error = 0;
	ssize_t n;

	while ((n = read(report, &error, sizeof(error))) == -1 &&
	    errno == EINTR)
		;
	while (waitpid(pid, &status, 0) == -1) {
		if (errno != EINTR) {
			cli_error("%s: %s", name, strerror(errno));
			return false;
		}
	}
	if (n == (ssize_t)sizeof(error))
		cli_error("%s: cannot be run: %s; name an editor in VISUAL "
		    "or EDITOR", name, strerror(error));
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

/* While the editor runs, ^C is for it alone. */
static bool
run_words(char *word[], int n, const char *path)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, was[2];
	int report[2];
	bool ok;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) == -1) {
		cli_error("%s", strerror(errno));
		return false;
	}
	sigemptyset(&ignore.sa_mask);
	sigaction(SIGINT, &ignore, &was[0]);
	sigaction(SIGQUIT, &ignore, &was[1]);
	fflush(stdout);
	if ((pid = fork()) == 0) {
		sigaction(SIGINT, &was[0], NULL);
		sigaction(SIGQUIT, &was[1], NULL);
		become_editor(word, n, path, report[1]);
	}
	close(report[1]);
	if (pid == -1)
		cli_error("%s", strerror(errno));
	ok = pid != -1 && wait_for(pid, report[0], n > 0 ? word[0] :
	    fallbacks[0]);
	close(report[0]);
	sigaction(SIGINT, &was[0], NULL);
	sigaction(SIGQUIT, &was[1], NULL);
	return ok;
}

bool
editor_run(const char *path)
{
	const char *variable, *value = chosen_editor(&variable);
	char *word[WORDS_MAX], *copy = strdup(value != NULL ? value : "");
	bool ok = false;
	int n;

	if (copy == NULL)
		cli_error("%s", strerror(errno));
	else if ((n = split_command(copy, word)) == -1)
		cli_error("%s: %s: no command can be made of it", variable,
		    value);
	else
		ok = run_words(word, n, path);
	free(copy);
	return ok;
}
