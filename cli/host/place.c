/* SPDX-License-Identifier: ISC */
#include "host/place.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "command.h"

#define LINKS_MAX 40 /* the kernel's limit */

struct walk {
	const char *path;	 /* as given, for messages */
	int dir;		 /* the directory reached */
	char rest[PATH_MAX];	 /* the part not walked yet */
	char name[NAME_MAX + 1]; /* the name being walked */
	unsigned int links;
	bool linked; /* the last name was a link */
};

/* Prints what, and the text of error unless it is 0. Always false. */
static bool
report_failure(const struct walk *w, const char *what, int error)
{
	return cli_error("%s: %s%s%s", w->path, what, error != 0 ? ": " : "",
	    error != 0 ? strerror(error) : "");
}

/* Makes fd the directory reached. False after a message if it is -1. */
static bool
enter_directory(struct walk *w, int fd)
{
	if (fd == -1)
		return report_failure(w, "its directory", errno);
	io_close(w->dir);
	w->dir = fd;
	return true;
}

static bool
enter_start(struct walk *w, const char *path)
{
	return enter_directory(w,
	    open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* Whether to follow the link w->name (place.h). False after a message. */
static bool
may_follow_link(const struct walk *w, const struct stat *link)
{
	struct stat dir;

	if (geteuid() != 0)
		return true;
	if (link->st_uid != 0)
		return cli_error(
		    "%s: root does not follow the symbolic link '%s' on "
		    "the way, which belongs to user %u; give the path without "
		    "that link, or run this as that user",
		    w->path, w->name, (unsigned int)link->st_uid);
	if (fstat(w->dir, &dir) == -1)
		return report_failure(w, "cannot be found", errno);
	if (dir.st_uid == 0 &&
	    ((dir.st_mode & 022) == 0 || (dir.st_mode & S_ISVTX) != 0))
		return true;
	return cli_error(
	    "%s: root does not follow the symbolic link '%s' on the way, "
	    "since others may write the directory that it is in; give the "
	    "path without that link",
	    w->path, w->name);
}

/* Puts the target of a link before w->rest. False after a message. */
static bool
follow_link(struct walk *w, int link)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n;
	int len;

	if (++w->links > LINKS_MAX)
		return report_failure(w, "cannot be found", ELOOP);
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n <= 0)
		return report_failure(w, "cannot be found", errno);
	target[n] = '\0';
	w->linked = w->linked || w->rest[0] == '\0';
	memcpy(rest, w->rest, sizeof(rest));
	len = snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest);
	if (len < 0 || (size_t)len >= sizeof(w->rest))
		return report_failure(w, "cannot be found", ENAMETOOLONG);
	return target[0] != '/' || enter_start(w, target);
}

/* Walks one name; *foundp: it is the file's. False after a message. */
static bool
walk_name(struct walk *w, bool *foundp)
{
	const char *next = w->rest + strspn(w->rest, "/");
	const size_t len = strcspn(next, "/");
	struct stat st;
	bool last, ok;
	int fd;

	if (len > NAME_MAX)
		return report_failure(w, "cannot be found", ENAMETOOLONG);
	if (len == 0)
		return report_failure(w, "not a regular file", 0);
	memcpy(w->name, next, len);
	w->name[len] = '\0';
	next += len;
	next += strspn(next, "/");
	memmove(w->rest, next, strlen(next) + 1);
	last = w->rest[0] == '\0';

	fd = openat(w->dir, w->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 && errno != ENOENT)
		return report_failure(w, "cannot be found", errno);
	if (fd == -1 && w->linked)
		return report_failure(w,
		    "a symbolic link to a file that does not exist; remove "
		    "the link, or name that file",
		    0);
	if (fd == -1) {
		*foundp = last;
		return last || report_failure(w, "its directory", ENOENT);
	}
	if (fstat(fd, &st) == -1)
		ok = report_failure(w, "cannot be found", errno);
	else if (S_ISLNK(st.st_mode))
		ok = may_follow_link(w, &st) && follow_link(w, fd);
	else if (last)
		ok = *foundp = S_ISREG(st.st_mode) ||
		    report_failure(w, "not a regular file", 0);
	else if (S_ISDIR(st.st_mode))
		return enter_directory(w, fd);
	else
		ok = report_failure(w, "cannot be found", ENOTDIR);
	close(fd);
	return ok;
}

bool
place_find(const char *path, int *dirp, char name[static NAME_MAX + 1])
{
	struct walk w = { .path = path, .dir = -1 };
	size_t len = strlen(path);
	bool found = false, ok;

	*dirp = -1;
	if (len == 0 || path[len - 1] == '/')
		return report_failure(&w, "not the name of a file", 0);
	if (len >= sizeof(w.rest))
		return report_failure(&w, "cannot be found", ENAMETOOLONG);
	memcpy(w.rest, path, len + 1);
	ok = enter_start(&w, path);
	while (ok && !found)
		ok = walk_name(&w, &found);
	if (ok) {
		*dirp = openat(w.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ok = *dirp != -1 || report_failure(&w, "its directory", errno);
		memcpy(name, w.name, sizeof(w.name));
	}
	io_close(w.dir);
	return ok;
}
