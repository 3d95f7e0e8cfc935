/* SPDX-License-Identifier: ISC */
#include "sshd_config/runnable.h"

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
