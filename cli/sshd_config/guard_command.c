/* SPDX-License-Identifier: ISC */
#include "sshd_config/guard_command.h"

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sshd_config/words.h"

bool
guard_command(const char *command, const char **argsp)
{
	size_t len = strcspn(command, " \t\"");
	const size_t name = strlen(GUARD_NAME);

	*argsp = command + len;
	return len > name && command[len - name - 1] == '/' &&
	    strncmp(command + len - name, GUARD_NAME, name) == 0;
}

bool
guard_files_read(const char *args, struct guard_files *f)
{
	const char *option, *value;
	char *rest;

	*f = (struct guard_files){ .memory = strdup(args) };
	if ((rest = f->memory) == NULL)
		return false;
	/* Every argument of the guard before "--" is an option with a value. */
	while ((option = sshd_words_next(&rest)) != NULL) {
		f->chained = strcmp(option, "--") == 0;
		if (f->chained)
			f->behind = rest != NULL ? rest + strspn(rest, " \t") :
						   "";
		if (f->chained || (value = sshd_words_next(&rest)) == NULL)
			break;
		if (strcmp(option, "--config") == 0 && f->config == NULL)
			f->config = value;
		else if (strcmp(option, "--strictmodes") == 0)
			f->strictmodes = value;
		else if (strcmp(option, "--wildcards") == 0)
			f->wildcards = value;
		else if (strcmp(option, "--file") == 0 &&
		    f->n < KV_CONFIG_MAX_PATTERNS)
			f->pattern[f->n++] = value;
	}
	return true;
}

void
guard_files_free(struct guard_files *f)
{
	free(f->memory);
	*f = (struct guard_files){ 0 };
}

bool
guard_chained(const char *args)
{
	struct guard_files f;
	const bool chained = guard_files_read(args, &f) && f.chained;

	guard_files_free(&f);
	return chained;
}

bool
guard_config(const char *args, char *path, size_t cap)
{
	struct guard_files f;
	const bool found = guard_files_read(args, &f) && f.config != NULL;

	snprintf(path, cap, "%s", found ? f.config : KV_CONFIG_PATH);
	guard_files_free(&f);
	return found;
}

/* How sshd judges one place. what becomes the end of a sentence about it. */
static enum runnable
judge_place(const struct stat *st, const char **whatp)
{
	if (st->st_uid != 0) {
		*whatp = "is not owned by root: sshd does not run the guard";
		return RUNNABLE_UNSAFE;
	}
	if ((st->st_mode & 022) == 0)
		return RUNNABLE;
	if ((st->st_mode & 022) == 020 && st->st_gid == 0) {
		*whatp = "is writable by root's group: sshd may not run the "
			 "guard";
		return RUNNABLE_DOUBTFUL;
	}
	*whatp = "is writable by group or others: sshd does not run the guard";
	return RUNNABLE_UNSAFE;
}

enum runnable
runnable_path(const char *path, char *why, size_t cap)
{
	enum runnable worst = RUNNABLE, found;
	char place[PATH_MAX], *slash;
	const char *what = "";
	struct stat st;
	bool there;

	there = realpath(path, place) != NULL && stat(place, &st) == 0;
	if (!there || !S_ISREG(st.st_mode)) {
		snprintf(why, cap, "%s: %s", path,
		    there ? "not a regular file" : strerror(errno));
		return RUNNABLE_MISSING;
	}
	for (;;) {
		found = judge_place(&st, &what);
		if (found > worst) {
			snprintf(why, cap, "%s %s", place, what);
			worst = found;
		}
		if (found == RUNNABLE_UNSAFE || strcmp(place, "/") == 0)
			return worst;
		slash = strrchr(place, '/');
		slash[slash == place] = '\0';
		if (stat(place, &st) == -1) {
			snprintf(why, cap, "%s: %s", place, strerror(errno));
			return RUNNABLE_UNSAFE;
		}
	}
}
