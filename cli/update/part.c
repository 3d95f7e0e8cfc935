/* SPDX-License-Identifier: ISC */
#include "update/part.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"

/* As often, the file is made or opened again. */
#define TRIES_MAX 100

static bool
report_failure(const struct update_part *p, const char *what)
{
	return cli_error("%s: %s %s beside it: %s", p->path, what, p->name,
	    strerror(errno));
}

void
update_part_name(struct update_part *p, int dir, const char *name)
{
	p->dir = dir;
	p->named = true;
	snprintf(p->name, sizeof(p->name), ".%.230s.keyveto-part", name);
}

bool
update_part_open(struct update_part *p, int dir, const char *name,
    const char *path)
{
	struct stat st, named;
	int tries = 0;

	update_part_name(p, dir, name);
	p->path = path;
	p->len = 0;
	p->named = false;
	for (; tries < TRIES_MAX; tries++) {
		p->fd = openat(dir, p->name,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			O_CLOEXEC,
		    0600);
		if (p->fd == -1 && errno != ELOOP)
			return report_failure(p, "cannot make");
		/* Nobody else may write the file after it was verified. */
		if (p->fd == -1 || fstat(p->fd, &st) == -1 ||
		    !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		    st.st_nlink != 1 || (st.st_mode & 077) != 0) {
			if (unlinkat(dir, p->name, 0) == -1 &&
			    errno != ENOENT) {
				report_failure(p, "cannot remove");
				break;
			}
		} else if (flock(p->fd, LOCK_EX | LOCK_NB) == -1) {
			if (errno == EWOULDBLOCK)
				cli_error("%s: another keyveto update of it is "
					  "running; wait for its end",
				    path);
			else
				report_failure(p, "cannot lock");
			break;
		} else if (fstat(p->fd, &st) == 0 &&
		    fstatat(dir, p->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_dev == named.st_dev && st.st_ino == named.st_ino) {
			p->len = st.st_size;
			p->named = true;
			return true;
		}
		/*
		 * Try again: it was removed, or the last holder of the lock
		 * renamed it to the filter.
		 */
		io_close(p->fd);
		p->fd = -1;
	}
	if (tries == TRIES_MAX)
		cli_error(
		    "%s: %s beside it is never a file of this user alone; "
		    "put it on a file system that keeps owners and modes",
		    path, p->name);
	io_close(p->fd);
	p->fd = -1;
	return false;
}

int
update_part_nameless(int dir, const char *name)
{
	char hidden[NAME_MAX + 1];
	int fd = openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd != -1)
		return fd;
	/* This file system has no O_TMPFILE. */
	snprintf(hidden, sizeof(hidden), ".%.230s.keyveto-delta", name);
	(void)unlinkat(dir, hidden, 0);
	fd = openat(dir, hidden,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd != -1)
		(void)unlinkat(dir, hidden, 0);
	return fd;
}

void
update_part_unname(struct update_part *p)
{
	if (p->named)
		(void)unlinkat(p->dir, p->name, 0);
	p->named = false;
}

bool
update_part_cut(struct update_part *p, off_t at)
{
	if (ftruncate(p->fd, at) == -1)
		return report_failure(p, "cannot write");
	p->len = at;
	return true;
}

bool
update_part_reserve(const struct update_part *p, off_t size)
{
	return size == 0 ||
	    fallocate(p->fd, FALLOC_FL_KEEP_SIZE, 0, size) == 0 ||
	    errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR;
}

void
update_part_close(struct update_part *p, bool keep)
{
	if (p->fd == -1)
		return;
	if (!keep)
		update_part_unname(p);
	else if (ftruncate(p->fd, p->len) == -1)
		/* Only the preallocated space would be freed. */
		errno = 0;
	close(p->fd);
	p->fd = -1;
}
