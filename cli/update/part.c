/* SPDX-License-Identifier: ISC */
#include "update/part.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"

/* As often, the lock file is made or opened again. */
#define TRIES_MAX 100

static bool
report_failure(const struct update_part *p, const char *what)
{
	return cli_error("%s: %s %s beside it: %s", p->path, what, p->lock_name,
	    strerror(errno));
}

/*
 * Opens the lock file, or makes it. False after a message; true with -1 as the
 * lock if it was another file, which is gone now.
 */
static bool
open_lock(struct update_part *p)
{
	struct stat st;

	p->lock = openat(p->dir, p->lock_name,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
	    0600);
	if (p->lock == -1 && errno != ELOOP)
		return report_failure(p, "cannot make");
	/* Whoever else could open it could lock it. */
	if (p->lock != -1 && fstat(p->lock, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && st.st_nlink == 1 &&
	    (st.st_mode & 077) == 0)
		return true;
	io_close(p->lock);
	p->lock = -1;
	return unlinkat(p->dir, p->lock_name, 0) == 0 || errno == ENOENT ||
	    report_failure(p, "cannot remove");
}

/* False after a message. */
static bool
get_lock(struct update_part *p)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		if (!open_lock(p))
			return false;
		if (p->lock == -1)
			continue;
		if (!io_lock(p->lock)) {
			if (errno == EWOULDBLOCK)
				cli_error("%s: another keyveto update of it is "
					  "running; wait for its end",
				    p->path);
			else
				report_failure(p, "cannot lock");
			break;
		}
		if (io_is_named(p->lock, p->dir, p->lock_name))
			return true;
		/* Its last holder removed it. */
		close(p->lock);
		p->lock = -1;
	}
	if (p->lock == -1)
		cli_error(
		    "%s: %s beside it is never a file of this user alone; "
		    "put it on a file system that keeps owners and modes",
		    p->path, p->lock_name);
	io_close(p->lock);
	p->lock = -1;
	return false;
}

bool
update_part_open(struct update_part *p, int dir, const char *name,
    const char *path)
{
	char packed[NAME_MAX + 1];

	*p = (struct update_part){ .dir = dir,
		.fd = -1,
		.reads = -1,
		.path = path };
	snprintf(p->lock_name, sizeof(p->lock_name), ".%.230s.keyveto-part",
	    name);
	if (!get_lock(p))
		return false;
	/* An older keyveto left it there if a download was cut short. */
	snprintf(packed, sizeof(packed), ".%.220s.xz.keyveto-part", name);
	(void)unlinkat(dir, packed, 0);
	if ((p->fd = update_part_nameless(dir, name)) != -1 &&
	    (p->reads = io_reopen(p->fd)) != -1)
		return true;
	if (p->fd == -1)
		cli_failed(path, "cannot make a file beside it");
	else
		cli_error("/proc/self/fd: %s: update needs /proc",
		    strerror(errno));
	update_part_close(p);
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
	snprintf(hidden, sizeof(hidden), ".%.230s.keyveto-patch", name);
	(void)unlinkat(dir, hidden, 0);
	fd = openat(dir, hidden,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd != -1)
		(void)unlinkat(dir, hidden, 0);
	return fd;
}

bool
update_part_empty(struct update_part *p)
{
	p->len = 0;
	return ftruncate(p->fd, 0) == 0 ||
	    cli_failed(p->path, "cannot write a file beside it");
}

void
update_part_close(struct update_part *p)
{
	io_close(p->fd);
	io_close(p->reads);
	if (p->lock != -1)
		(void)unlinkat(p->dir, p->lock_name, 0);
	io_close(p->lock);
	p->fd = p->reads = p->lock = -1;
}
