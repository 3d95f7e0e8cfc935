/* SPDX-License-Identifier: ISC */
#include "config/copy.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* Opens the directory, and sets the names in it. False after a message. */
static bool
set_names(struct config_copy *c, const char *path)
{
	char file[PATH_MAX], resolved[PATH_MAX];
	const char *folder;
	struct replace r;
	bool found;
	int n;

	/* r.dir and r.name are of the file that a link leads to. */
	found = replace_find(&r, path);
	c->dir = r.dir;
	if (!found)
		return false;
	/* The file may not exist, but its directory does. */
	snprintf(file, sizeof(file), "%s", path);
	if (realpath(path, resolved) != NULL)
		folder = dirname(resolved);
	else if ((folder = realpath(dirname(file), resolved)) == NULL)
		return cli_error("%s: %s", path, strerror(errno));
	snprintf(c->name, sizeof(c->name), "%.240s.edit", r.name);
	snprintf(c->lock_name, sizeof(c->lock_name), ".%.240s.edit.lock",
	    r.name);
	n = snprintf(c->path, sizeof(c->path), "%s/%s",
	    strcmp(folder, "/") == 0 ? "" : folder, c->name);
	if (n >= 0 && (size_t)n < sizeof(c->path))
		return true;
	return cli_error("%s: %s", path, strerror(ENAMETOOLONG));
}

static bool
lock_copy(struct config_copy *c, const char *path)
{
	do {
		io_close(c->lock);
		c->lock = openat(c->dir, c->lock_name,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
		if (c->lock == -1)
			return cli_error(
			    "%s: cannot make or open the lock file %s "
			    "beside it: %s",
			    path, c->lock_name, strerror(errno));
		if (io_lock(c->lock))
			continue;
		if (errno == EWOULDBLOCK)
			cli_error(
			    "%s: somebody else is at work on it with " CONFIG_EDIT_COMMAND
			    "; try again when they have finished",
			    path);
		else
			cli_error("%s: %s: %s", path, c->lock_name,
			    strerror(errno));
		/* config_copy_close must not remove it. */
		close(c->lock);
		c->lock = -1;
		return false;
	} while (!io_is_named(c->lock, c->dir, c->lock_name));
	return true;
}

bool
config_copy_open(struct config_copy *c, const char *path)
{
	*c = (struct config_copy){ .dir = -1, .lock = -1 };
	return set_names(c, path) && lock_copy(c, path);
}

enum config_copy_made
config_copy_make(const struct config_copy *c, const struct config_text *t)
{
	int fd = openat(c->dir, c->name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct config_text found;
	bool ok;

	if (fd == -1 && errno == EEXIST) {
		if (!config_copy_read(c, &found))
			return CONFIG_COPY_FAILED;
		ok = config_text_is_same(&found, t);
		free(found.text);
		return ok ? CONFIG_COPY_NEW : CONFIG_COPY_THERE;
	}
	ok = fd != -1 && io_write(fd, t->text, t->len) &&
	    fchmod(fd, 0600) == 0 && fsync(fd) == 0;
	if (!ok)
		cli_error("%s: %s; nothing was changed", c->path,
		    strerror(errno));
	io_close(fd);
	if (fd != -1 && !ok)
		config_copy_remove(c);
	return ok ? CONFIG_COPY_NEW : CONFIG_COPY_FAILED;
}

bool
config_copy_read(const struct config_copy *c, struct config_text *t)
{
	struct stat st;
	bool ok = false;
	int fd;

	*t = (struct config_text){ NULL, 0 };
	fd = openat(c->dir, c->name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1 && errno == ELOOP)
		cli_error("%s: a symbolic link; move it away", c->path);
	else if (fd == -1 || fstat(fd, &st) == -1)
		cli_error("%s: %s", c->path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		cli_error("%s: not a file of yours; move it away", c->path);
	else
		ok = config_read_fd(fd, c->path, t);
	io_close(fd);
	return ok;
}

void
config_copy_remove(const struct config_copy *c)
{
	if (unlinkat(c->dir, c->name, 0) == -1 && errno != ENOENT)
		cli_error("%s: cannot be removed: %s", c->path,
		    strerror(errno));
}

void
config_copy_close(struct config_copy *c)
{
	/* Remove it first: once unlocked, another process may use the name. */
	if (c->lock != -1 && io_is_named(c->lock, c->dir, c->lock_name))
		(void)unlinkat(c->dir, c->lock_name, 0);
	io_close(c->lock);
	io_close(c->dir);
	c->lock = c->dir = -1;
}
