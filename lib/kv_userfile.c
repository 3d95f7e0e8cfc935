/* SPDX-License-Identifier: ISC */
#include "kv_userfile.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * What stands before the account's home in a path: sshd reads a home that is no
 * absolute path from /, where it runs.
 */
static const char *
before_home(const struct kv_account *account)
{
	return *account->home == '\0' || *account->home == '/' ? "" : "/";
}

enum kv_err
kv_userfile_expand(const char *pattern, const struct kv_account *account,
    char *path, size_t cap)
{
	char uid[3 * sizeof(uid_t) + 1];
	size_t len = 0;

	snprintf(uid, sizeof(uid), "%lu", (unsigned long)account->uid);
	for (const char *p = pattern; *p != '\0'; p++) {
		char one[2] = { *p, '\0' };
		const char *add = one;
		size_t n;

		if (*p == '%') {
			switch (*++p) {
			case 'h':
				add = account->home;
				break;
			case 'u':
				add = account->name;
				break;
			case 'U':
				add = uid;
				break;
			case '%':
				break;
			default:
				return KV_ERR_CONFIG;
			}
		}
		/* Only the expansion shows whether a path is relative. */
		if (len == 0 && add[0] != '\0' && add[0] != '/') {
			const int put = snprintf(path, cap, "%s%s/",
			    before_home(account), account->home);

			if (put < 0 || (size_t)put >= cap)
				return KV_ERR_NO_SPACE;
			len = (size_t)put;
		}
		if ((n = strlen(add)) >= cap - len)
			return KV_ERR_NO_SPACE;
		memcpy(path + len, add, n);
		len += n;
	}
	if (len == 0)
		return KV_ERR_CONFIG;
	path[len] = '\0';
	return KV_OK;
}

enum kv_err
kv_userfile_place(const char *expanded, const struct kv_account *account,
    char *path, size_t cap)
{
	int n;

	if (*expanded == '\0')
		return KV_ERR_CONFIG;
	if (*expanded == '/')
		n = snprintf(path, cap, "%s", expanded);
	else
		n = snprintf(path, cap, "%s%s/%s", before_home(account),
		    account->home, expanded);
	return n >= 0 && (size_t)n < cap ? KV_OK : KV_ERR_NO_SPACE;
}

/*
 * Whether the account is the only member of group gid. Primary and
 * supplementary members count, as in Debian's sshd.
 */
static bool
is_private_group(gid_t gid, uid_t owner, uid_t uid)
{
	const struct group *gr;
	const struct passwd *pw;
	bool member = false, stranger = false;

	if ((gr = getgrgid(gid)) == NULL)
		return false;
	setpwent();
	while ((pw = getpwent()) != NULL) {
		if (pw->pw_gid != gid)
			continue;
		member = true;
		if (pw->pw_uid != uid)
			stranger = true;
	}
	endpwent();
	if (stranger || (pw = getpwuid(owner)) == NULL)
		return false;
	if (gr->gr_mem[0] != NULL) {
		member = true;
		if (strcmp(gr->gr_mem[0], pw->pw_name) != 0 ||
		    gr->gr_mem[1] != NULL)
			return false;
	}
	return member;
}

static bool
is_secure(const struct stat *st, const struct kv_account *account,
    enum kv_strictmodes mode)
{
	const uid_t uid = account->uid;

	if (st->st_uid != 0 && st->st_uid != uid)
		return false;
	if ((st->st_mode & S_IWOTH) != 0)
		return false;
	if ((st->st_mode & S_IWGRP) == 0)
		return true;
	return mode == KV_STRICTMODES_PRIVATE_GROUP &&
	    is_private_group(st->st_gid, st->st_uid, uid);
}

/*
 * Whether place is the account's home. place has no symlinks. If it is in the
 * home or is the home, the home has none either, and is not searched for them.
 * home is empty before the first call, and keeps what a search found.
 */
static bool
is_home(const char *place, const struct kv_account *account,
    char home[static PATH_MAX])
{
	const size_t n = strlen(account->home);
	char named[PATH_MAX];
	int put;

	if (strncmp(account->home, place, n) == 0 &&
	    (place[n] == '\0' || place[n] == '/'))
		return place[n] == '\0';
	if (home[0] == '\0') {
		put = snprintf(named, sizeof(named), "%s%s",
		    before_home(account), account->home);
		if (put < 0 || (size_t)put >= sizeof(named) ||
		    realpath(named, home) == NULL)
			home[0] = '\0';
	}
	return strcmp(home, place) == 0;
}

/* Judges the file behind st, and each directory of path up to the home. */
static enum kv_err
check_path(const char *path, const struct stat *st,
    const struct kv_account *account, enum kv_strictmodes mode,
    char why[static KV_USERFILE_WHY_BYTES])
{
	char place[PATH_MAX], home[PATH_MAX] = "";
	struct stat dir;

	if (realpath(path, place) == NULL) {
		snprintf(why, KV_USERFILE_WHY_BYTES, "%.400s: %s", path,
		    strerror(errno));
		return KV_ERR_SYSTEM;
	}
	if (!is_secure(st, account, mode)) {
		snprintf(why, KV_USERFILE_WHY_BYTES,
		    "bad ownership or modes for file %.400s", place);
		return KV_ERR_INSECURE;
	}
	do {
		/* dirname writes into place. */
		char *parent = dirname(place);

		if (parent != place)
			memmove(place, parent, strlen(parent) + 1);
		if (stat(place, &dir) == -1 ||
		    !is_secure(&dir, account, mode)) {
			snprintf(why, KV_USERFILE_WHY_BYTES,
			    "bad ownership or modes for directory %.400s",
			    place);
			return KV_ERR_INSECURE;
		}
	} while (!is_home(place, account, home) && strcmp(place, "/") != 0);
	return KV_OK;
}

enum kv_err
kv_userfile_open(const char *path, const struct kv_account *account,
    enum kv_strictmodes mode, int *fdp, char why[static KV_USERFILE_WHY_BYTES])
{
	struct stat st;
	enum kv_err r = KV_OK;
	int fd, saved;

	*fdp = -1;
	why[0] = '\0';
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1) {
		saved = errno;
		snprintf(why, KV_USERFILE_WHY_BYTES, "%.400s: %s", path,
		    strerror(saved));
		if (fd != -1)
			close(fd);
		errno = saved;
		return KV_ERR_SYSTEM;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(why, KV_USERFILE_WHY_BYTES,
		    "%.400s is not a regular file", path);
		r = KV_ERR_NOT_REGULAR;
	} else if (mode != KV_STRICTMODES_NO)
		r = check_path(path, &st, account, mode, why);
	if (r != KV_OK) {
		saved = errno;
		close(fd);
		errno = saved;
		return r;
	}
	*fdp = fd;
	return KV_OK;
}
