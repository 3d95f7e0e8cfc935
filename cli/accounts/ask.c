/* SPDX-License-Identifier: ISC */
#include "accounts/ask.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "host/memory.h"
#include "host/program.h"
#include "sshd_config/guard_command.h"
#include "sshd_config/runnable.h"
#include "sshd_config/sshd_config.h"
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

/* A word with its tokens, as an argument of sshd's. NULL: too long. */
static char *
expand(const char *word, const struct account *about, char *to, size_t cap)
{
	char one[] = "?", uid[24];
	size_t n = 0;

	snprintf(uid, sizeof(uid), "%lu", (unsigned long)about->uid);
	for (; *word != '\0' && n < cap; word++) {
		const bool token = *word == '%' && *++word != '%';

		one[0] = *word;
		n += (size_t)snprintf(to + n, cap - n, "%s",
		    !token	     ? one :
			*word == 'u' ? about->name :
			*word == 'h' ? about->home :
				       uid);
	}
	if (n < cap)
		to[n] = '\0';
	return n < cap ? to : NULL;
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

/* Runs a program, and writes what it prints to fd. False with a sentence. */
static bool
run(struct program *p, int fd, char why[ASK_WHY_BYTES])
{
	struct output out = { .fd = fd };
	struct program_process process;
	int ends[2], error, status = 0;

	*why = '\0';
	if (pipe2(ends, O_CLOEXEC) == -1) {
		snprintf(why, ASK_WHY_BYTES, "%s", strerror(errno));
		return false;
	}
	program_fds(p, PROGRAM_NULL, ends[1], PROGRAM_NULL);
	error = program_start(p, &process) ? 0 : errno;
	close(ends[1]);
	if (error == 0) {
		error = program_read(ends[0], ASK_SECONDS, take, &out);
		if (error == 0 && program_ends(&process, ASK_SECONDS))
			error = program_wait(&process, &status);
		else {
			program_kill(&process);
			error = error == 0 ? ETIMEDOUT : error;
		}
	}
	close(ends[0]);
	if (error != 0)
		snprintf(why, ASK_WHY_BYTES, "it failed: %s", strerror(error));
	else if (status != 0)
		snprintf(why, ASK_WHY_BYTES, "it failed (status %d)",
		    WIFEXITED(status) ? WEXITSTATUS(status) : status);
	return *why == '\0';
}

int
ask_run(const struct ask_command *c, const struct account *about,
    char why[ASK_WHY_BYTES])
{
	static char words[SSHD_VALUE_BYTES], arg[SSHD_WORDS_MAX][PATH_MAX];
	static char user[ENV_BYTES], logname[ENV_BYTES], home[ENV_BYTES],
	    language[ENV_BYTES],
	    path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/games:"
		     "/usr/local/sbin:/usr/sbin:/sbin";
	char *const env[] = { path, user, logname, home,
		getenv("LANG") != NULL ? language : NULL, NULL };
	const char *argv[SSHD_WORDS_MAX + 2], *word;
	struct program p = { .argv = argv, .env = env, .dies_with_us = true };
	struct account as;
	const struct passwd *pw;
	char *rest = words, name[256];
	size_t n = 0;
	int fd = -1;

	snprintf(why, ASK_WHY_BYTES, "keyveto cannot run it as sshd");
	if (strlen(c->text) >= sizeof(words) ||
	    expand(c->user, about, name, sizeof(name)) == NULL)
		return -1;
	memcpy(words, c->text, strlen(c->text) + 1);
	for (; n < SSHD_WORDS_MAX && (word = sshd_words_next(&rest)) != NULL;
	     n++)
		if ((argv[n] = expand(word, about, arg[n], PATH_MAX)) == NULL)
			return -1;
	/* Without arguments, sshd gives the account's name. */
	if (n == 1)
		argv[n++] = about->name;
	argv[n] = NULL;
	if ((pw = getpwnam(name)) == NULL) {
		snprintf(why, ASK_WHY_BYTES, "there is no account %.200s",
		    name);
		return -1;
	}
	as = (struct account){
		.name = pw->pw_name,
		.home = pw->pw_dir,
		.uid = pw->pw_uid,
		.gid = pw->pw_gid,
	};
	p.as = &as;
	snprintf(user, sizeof(user), "USER=%s", as.name);
	snprintf(logname, sizeof(logname), "LOGNAME=%s", as.name);
	snprintf(home, sizeof(home), "HOME=%s", as.home);
	if (env[4] != NULL)
		snprintf(language, sizeof(language), "LANG=%s", getenv("LANG"));
	if ((fd = memory_file("keys")) == -1)
		snprintf(why, ASK_WHY_BYTES, "%s", strerror(errno));
	else if (!run(&p, fd, why)) {
		close(fd);
		fd = -1;
	}
	return fd;
}
