/* SPDX-License-Identifier: ISC */
#include "accounts/ask.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"
#include "host/program.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/words.h"

/* More than any account has keys. */
#define OUTPUT_MAX ((size_t)16 * 1024 * 1024)
#define ENV_BYTES (PATH_MAX + 16)

/* Whether text has only these tokens, and %%. */
static bool
has_only_tokens(const char *text, const char *tokens)
{
	for (; *text != '\0'; text++)
		if (*text == '%' &&
		    (*++text == '\0' || strchr(tokens, *text) == NULL))
			return false;
	return true;
}

bool
ask_find(const char *command, char *text, size_t cap)
{
	struct guard_files g = { .memory = NULL };
	const char *args, *found = command;

	if (guard_command(command, &args))
		found = guard_files_read(args, &g) ? g.behind : NULL;
	if (found != NULL)
		snprintf(text, cap, "%s", found);
	guard_files_free(&g);
	return found != NULL && !sshd_words_none(text);
}

bool
ask_is_possible(const struct ask_command *c, char why[ASK_WHY_BYTES])
{
	char program[PATH_MAX];
	const size_t len = strcspn(c->text, " \t");
	const char *args = c->text + len;

	snprintf(program, sizeof(program), "%.*s",
	    (int)(len < PATH_MAX ? len : PATH_MAX - 1), c->text);
	*why = '\0';
	if (!has_only_tokens(args, "uhU%") || !has_only_tokens(c->user, "u%"))
		snprintf(why, ASK_WHY_BYTES,
		    "it is asked with more than the account (%%u, %%h, %%U)");
	else if (*program != '/' || strpbrk(c->text, "\"'\\#") != NULL ||
	    strchr(program, '%') != NULL || sshd_words_none(c->user))
		snprintf(why, ASK_WHY_BYTES, "keyveto cannot run it as sshd");
	else if (runnable_path(program, why, ASK_WHY_BYTES) != RUNNABLE)
		snprintf(why, ASK_WHY_BYTES,
		    "it is not there, or not root's alone");
	return *why == '\0';
}

char *
ask_expand(const struct ask_login *login, const char *word)
{
	const struct account *account = login->account;
	char uid[32], *text = NULL;
	const struct {
		char letter;
		const char *value;
	} token[] = {
		{ '%', "%" },
		{ 'u', account->name },
		{ 'h', account->home },
		{ 'U', uid },
		{ 't', login->type },
		{ 'k', login->key },
		{ 'f', login->fingerprint },
		{ 'C', login->connection },
		{ 'D', login->connection != NULL ? "" : NULL },
	};
	const size_t n = sizeof(token) / sizeof(token[0]);
	size_t len, k = 0;
	FILE *out;

	snprintf(uid, sizeof(uid), "%llu", (unsigned long long)account->uid);
	if ((out = open_memstream(&text, &len)) == NULL)
		return NULL;
	for (; k < n && *word != '\0'; word++) {
		if (*word != '%') {
			putc(*word, out);
			continue;
		}
		word++;
		for (k = 0; k < n &&
		     (token[k].letter != *word || token[k].value == NULL);
		     k++)
			;
		if (k < n)
			fputs(token[k].value, out);
	}
	if (fclose(out) == 0 && k < n)
		return text;
	free(text);
	if (k == n)
		errno = EINVAL;
	return NULL;
}

/* Takes ownership of word. False if word is NULL, or argv is full. */
static bool
add_word(char **argv, size_t *np, char *word)
{
	if (word == NULL || *np == ASK_WORDS_MAX - 1) {
		free(word);
		return false;
	}
	argv[(*np)++] = word;
	return true;
}

bool
ask_words(const struct ask_login *login, const char *command,
    char *argv[static ASK_WORDS_MAX])
{
	char *copy = strdup(command), *rest = copy;
	const char *args, *word;
	bool ok = copy != NULL;
	size_t n = 0;

	while (ok && (word = sshd_words_next(&rest)) != NULL) {
		const bool program = n == 0;

		ok = add_word(argv, &n,
		    program ? strdup(word) : ask_expand(login, word));
		if (ok && program && login->config != NULL &&
		    guard_command(command, &args))
			ok = add_word(argv, &n, strdup("--config")) &&
			    add_word(argv, &n, strdup(login->config));
	}
	/* sshd gives a command without arguments the account's name. */
	if (ok && n == 1)
		ok = add_word(argv, &n, ask_expand(login, "%u"));
	free(copy);
	return ok && n > 0;
}

void
ask_free_words(char **argv)
{
	for (; *argv != NULL; argv++)
		free(*argv);
}

int
ask_execute(char *const *argv, const struct account *as, unsigned int seconds,
    int (*take)(const void *p, size_t len, void *arg), void *arg, int *statusp)
{
	char user[ENV_BYTES], logname[ENV_BYTES], home[ENV_BYTES];
	char language[ENV_BYTES];
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/games:"
		      "/usr/local/sbin:/usr/sbin:/sbin";
	char *const env[] = { path, user, logname, home,
		getenv("LANG") != NULL ? language : NULL, NULL };
	struct program p = {
		.argv = (const char *const *)argv,
		.env = env,
		.as = as,
		.dies_with_us = true,
	};
	struct program_process process;
	int ends[2], error;

	snprintf(user, sizeof(user), "USER=%s", as->name);
	snprintf(logname, sizeof(logname), "LOGNAME=%s", as->name);
	snprintf(home, sizeof(home), "HOME=%s", as->home);
	if (env[4] != NULL)
		snprintf(language, sizeof(language), "LANG=%s", getenv("LANG"));
	if (pipe2(ends, O_CLOEXEC) == -1)
		return errno;
	program_fds(&p, PROGRAM_NULL, ends[1], PROGRAM_NULL);
	error = program_start(&p, &process) ? 0 : errno;
	close(ends[1]);
	if (error == 0) {
		error = program_read(ends[0], seconds, take, arg);
		if (error == 0 && !program_ends(&process, seconds))
			error = ETIMEDOUT;
		if (error == 0)
			error = program_wait(&process, statusp);
		else
			program_kill(&process);
	}
	close(ends[0]);
	return error;
}

/* Where a command's output goes. */
struct output {
	int fd;
	size_t bytes;
};

static int
take(const void *p, size_t len, void *arg)
{
	struct output *o = arg;

	o->bytes += len;
	return o->bytes > OUTPUT_MAX ? EFBIG :
	    io_write(o->fd, p, len)  ? 0 :
				       errno;
}

int
ask_run(const struct ask_command *c, const struct account *about,
    char why[ASK_WHY_BYTES])
{
	const struct ask_login login = { .account = about };
	char *argv[ASK_WORDS_MAX] = { NULL };
	char *name = ask_expand(&login, c->user);
	struct accounts as = { 0 };
	struct output out = { .fd = -1 };
	int error, status = 0;

	*why = '\0';
	if (name == NULL || !ask_words(&login, c->text, argv))
		snprintf(why, ASK_WHY_BYTES, "keyveto cannot run it as sshd");
	else if (!accounts_add(&as, name))
		snprintf(why, ASK_WHY_BYTES, "there is no account %.200s",
		    name);
	else if ((out.fd = memory_file("keys")) == -1)
		snprintf(why, ASK_WHY_BYTES, "%s", strerror(errno));
	else if ((error = ask_execute(argv, as.v, ASK_SECONDS, take, &out,
		      &status)) != 0)
		snprintf(why, ASK_WHY_BYTES, "it failed: %s", strerror(error));
	else if (status != 0)
		snprintf(why, ASK_WHY_BYTES, "it failed (status %d)",
		    WIFEXITED(status) ? WEXITSTATUS(status) : status);
	ask_free_words(argv);
	accounts_free(&as);
	free(name);
	if (*why == '\0')
		return out.fd;
	io_close(out.fd);
	return -1;
}
