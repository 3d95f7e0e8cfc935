/* SPDX-License-Identifier: ISC */
#include "kv_trusted.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINKS_MAX 40 /* as the kernel's own limit */

struct walk {
	uid_t owner;
	int dir;	      /* the directory reached, -1 for none */
	char place[PATH_MAX]; /* its name, for messages */
	char rest[PATH_MAX];  /* the part of the path still to be walked */
	unsigned int links;
	int flags; /* how the file itself is opened */
	char *why;
};

static enum kv_err
refuse(const struct walk *w, enum kv_err err, const char *name,
    const char *what)
{
	int saved = errno;

	snprintf(w->why, KV_TRUSTED_WHY_BYTES, "%.320s%s%.80s: %s", w->place,
	    *name != '\0' && strcmp(w->place, "/") != 0 ? "/" : "", name,
	    err == KV_ERR_SYSTEM ? strerror(saved) : what);
	errno = saved;
	return err;
}

static bool
owner_ok(const struct walk *w, const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == w->owner;
}

/* Judges the directory that w->dir holds. */
static enum kv_err
check_dir(const struct walk *w)
{
	struct stat st;

	if (fstat(w->dir, &st) == -1)
		return refuse(w, KV_ERR_SYSTEM, "", NULL);
	if (!owner_ok(w, &st))
		return refuse(w, KV_ERR_INSECURE, "",
		    "directory is not owned by root");
	if ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0)
		return refuse(w, KV_ERR_INSECURE, "",
		    "directory is writable by group or others");
	return KV_OK;
}

/* Moves to the directory fd, called name. The walk owns fd from here on. */
static enum kv_err
enter_dir(struct walk *w, int fd, const char *name)
{
	size_t len = strcmp(w->place, "/") == 0 ? 0 : strlen(w->place);

	if (w->dir != -1)
		close(w->dir);
	w->dir = fd;
	if (*name == '/')
		snprintf(w->place, sizeof(w->place), "/");
	else
		snprintf(w->place + len, sizeof(w->place) - len, "/%s", name);
	return check_dir(w);
}

static enum kv_err
enter_root(struct walk *w)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return refuse(w, KV_ERR_SYSTEM, "", NULL);
	return enter_dir(w, fd, "/");
}

/* Puts the target of the symbolic link name before the rest of the path. */
static enum kv_err
follow_link(struct walk *w, const char *name)
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t n;
	int len;

	if (++w->links > LINKS_MAX) {
		errno = ELOOP;
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	}
	if ((n = readlinkat(w->dir, name, target, sizeof(target) - 1)) == -1)
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	target[n] = '\0';
	memcpy(rest, w->rest, sizeof(rest));
	len = snprintf(w->rest, sizeof(w->rest), "%s/%s", target, rest);
	if (len < 0 || (size_t)len >= sizeof(w->rest)) {
		errno = ENAMETOOLONG;
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	}
	return target[0] == '/' ? enter_root(w) : KV_OK;
}

/* Judges the file behind fd. */
static enum kv_err
check_file(const struct walk *w, int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	if (!S_ISREG(st.st_mode))
		return refuse(w, KV_ERR_NOT_REGULAR, name,
		    "not a regular file");
	if (!owner_ok(w, &st))
		return refuse(w, KV_ERR_INSECURE, name, "not owned by root");
	if ((st.st_mode & 022) != 0)
		return refuse(w, KV_ERR_INSECURE, name,
		    "writable by group or others");
	return KV_OK;
}

/* Cuts the next name off w->rest. At the end name is empty. */
static enum kv_err
next_name(struct walk *w, char name[static NAME_MAX + 1])
{
	const char *p = w->rest + strspn(w->rest, "/");
	size_t len = strcspn(p, "/");

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return refuse(w, KV_ERR_SYSTEM, "", NULL);
	}
	memcpy(name, p, len);
	name[len] = '\0';
	p += len;
	p += strspn(p, "/");
	memmove(w->rest, p, strlen(p) + 1);
	return KV_OK;
}

/*
 * Opens the last name of the path, and judges the file. O_NONBLOCK in w->flags
 * keeps a FIFO or a device from blocking the open.
 */
static enum kv_err
open_file(const struct walk *w, const char *name, int *fdp)
{
	int fd = openat(w->dir, name, O_NOFOLLOW | O_CLOEXEC | w->flags);
	enum kv_err r;

	if (fd == -1)
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	if ((r = check_file(w, fd, name)) != KV_OK) {
		close(fd);
		return r;
	}
	*fdp = fd;
	return KV_OK;
}

/* Walks one name of the path. If it was the last, sets *fdp. */
static enum kv_err
walk_name(struct walk *w, int *fdp)
{
	char name[NAME_MAX + 1];
	struct stat st;
	enum kv_err r;
	bool last;
	int fd;

	if ((r = next_name(w, name)) != KV_OK)
		return r;
	last = w->rest[0] == '\0';
	if (name[0] == '\0')
		return refuse(w, KV_ERR_NOT_REGULAR, "", "not a regular file");
	if (!last) {
		/* With O_PATH a directory on the way need not be readable. */
		fd = openat(w->dir, name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd != -1)
			return enter_dir(w, fd, name);
		/* It may be a symbolic link. */
		if (errno != ENOTDIR && errno != ELOOP)
			return refuse(w, KV_ERR_SYSTEM, name, NULL);
	}
	if (fstatat(w->dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	if (S_ISLNK(st.st_mode)) {
		if (!owner_ok(w, &st))
			return refuse(w, KV_ERR_INSECURE, name,
			    "symbolic link is not owned by root");
		return follow_link(w, name);
	}
	if (!last) {
		errno = ENOTDIR;
		return refuse(w, KV_ERR_SYSTEM, name, NULL);
	}
	return open_file(w, name, fdp);
}

static enum kv_err
open_path(const char *path, uid_t owner, int flags, int *fdp, char *why)
{
	struct walk w = {
		.owner = owner,
		.dir = -1,
		.flags = flags,
		.why = why,
	};
	enum kv_err r;
	int saved;

	*fdp = -1;
	why[0] = '\0';
	if (path[0] != '/' || strlen(path) >= sizeof(w.rest)) {
		snprintf(why, KV_TRUSTED_WHY_BYTES,
		    "%.400s: not an absolute path of a file", path);
		return KV_ERR_INSECURE;
	}
	memcpy(w.rest, path, strlen(path) + 1);
	r = enter_root(&w);
	while (r == KV_OK && *fdp == -1)
		r = walk_name(&w, fdp);
	saved = errno;
	if (w.dir != -1)
		close(w.dir);
	errno = saved;
	return r;
}

enum kv_err
kv_trusted_open(const char *path, uid_t owner, int *fdp,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	return open_path(path, owner, O_RDONLY | O_NONBLOCK | O_NOCTTY, fdp,
	    why);
}

enum kv_err
kv_trusted_check(const char *path, uid_t owner,
    char why[static KV_TRUSTED_WHY_BYTES])
{
	enum kv_err r;
	int fd;

	if ((r = open_path(path, owner, O_PATH, &fd, why)) == KV_OK)
		close(fd);
	return r;
}
