/* SPDX-License-Identifier: ISC */
#include "update/installed.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"

bool
update_installed_open(struct update_installed *t, const char *path)
{
	const struct stat *dir = &t->place.dir_st;
	struct replace killed;
	bool ok;

	*t = (struct update_installed){ .path = path, .fd = -1 };
	if (!replace_find(&t->place, path))
		return false;
	if ((dir->st_uid != 0 && dir->st_uid != geteuid()) ||
	    ((dir->st_mode & 022) != 0 && (dir->st_mode & S_ISVTX) == 0))
		return cli_error(
		    "%s: its directory is somebody else's, or others may write "
		    "there; correct owner and mode, or run this as its owner",
		    path);
	/* Let replace_open end a run that was killed before it was done. */
	if (faccessat(t->place.dir, t->place.old_name, F_OK,
		AT_SYMLINK_NOFOLLOW) == 0) {
		ok = replace_open(&killed, path);
		replace_close(&killed);
		if (!ok)
			return false;
	}
	t->fd = openat(t->place.dir, t->place.name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->fd == -1 && errno == ENOENT)
		return true;
	if (t->fd == -1 || fstat(t->fd, &t->st) == -1)
		return cli_failed(t->path, "cannot be opened");
	if (S_ISREG(t->st.st_mode))
		return true;
	return cli_error("%s: not a regular file", t->path);
}

void
update_installed_close(struct update_installed *t)
{
	io_close(t->fd);
	t->fd = -1;
	replace_close(&t->place);
}

/*
 * replace_open, and checks that nothing changed since update_installed_open.
 * The lock is held now.
 */
static bool
open_unchanged(const struct update_installed *t, struct replace *r)
{
	bool same;

	if (!replace_open(r, t->path))
		return false;
	same = io_is_same(&r->dir_st, &t->place.dir_st) &&
	    strcmp(r->name, t->place.name) == 0 &&
	    (r->old == -1) == (t->fd == -1);

	if (same &&
	    (r->old == -1 ||
		(io_is_same(&r->old_st, &t->st) &&
		    r->old_st.st_ctim.tv_sec == t->st.st_ctim.tv_sec &&
		    r->old_st.st_ctim.tv_nsec == t->st.st_ctim.tv_nsec)))
		return true;
	return cli_error(
	    "%s: another program changed it meanwhile; nothing was written, "
	    "run this again",
	    t->path);
}

bool
update_installed_replace(const struct update_installed *t, int fd,
    struct stat *st, bool *donep)
{
	struct replace r;
	bool ok = open_unchanged(t, &r);

	/* A damaged file must not replace a good NAME.previous. */
	r.keep_old = t->is_good;
	r.keep_beside = t->is_other;
	r.root_only = true;
	r.change = CHANGE_JUDGED;
	ok = ok && replace_adopt(&r, fd) && replace_commit(&r);
	*donep = r.is_done;
	if (!r.is_done || fstat(r.fd, st) == -1)
		*st = (struct stat){ .st_size = -1 };
	/* The caller closes it. */
	r.fd = r.fd == fd ? -1 : r.fd;
	replace_close(&r);
	return ok;
}

int
update_installed_open_previous(const struct update_installed *t)
{
	struct stat st;
	int fd = openat(t->place.dir, t->place.previous_name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1 && errno == ENOENT) {
		cli_error("%s: there is no previous one (%s beside it)",
		    t->path, t->place.previous_name);
	} else if (fd == -1 || fstat(fd, &st) == -1) {
		cli_failed(t->path, "the previous one cannot be opened");
	} else if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & 022) != 0) {
		cli_error("%s: the previous one, %s, is somebody else's, or "
			  "others may write it; correct owner and mode",
		    t->path, t->place.previous_name);
	} else if (t->fd != -1 && io_is_same(&st, &t->st)) {
		cli_error("%s: the previous one is the same file", t->path);
	} else
		return fd;
	io_close(fd);
	return -1;
}

bool
update_installed_exchange(const struct update_installed *t, bool *donep)
{
	struct replace r;
	bool ok = open_unchanged(t, &r);

	*donep = ok &&
	    io_exchange(r.dir, t->place.previous_name, r.name, t->fd != -1);
	if (*donep)
		cli_note_change(t->path);
	if (ok && !*donep)
		ok = cli_failed(t->path,
		    errno == EINVAL ?
			"the file system cannot exchange it with the previous "
			"one; "
			"move that over it" :
			"cannot be exchanged with the previous one");
	else if (ok && fsync(r.dir) == -1 && errno != EINVAL)
		ok = cli_failed(t->path,
		    "exchanged, but not sure to survive a crash");
	replace_close(&r);
	return ok;
}
