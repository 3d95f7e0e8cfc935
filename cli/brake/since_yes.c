/* SPDX-License-Identifier: ISC */
/* brake/since_yes: reads and writes the file of struct since_yes. */
#include "brake/parts.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"

#define NAME ".refused-accounts"
#define NAME_NEW NAME ".keyveto-new"
#define NAME_LOCK NAME ".lock"
/* More than the names of all accounts of any machine. */
#define BYTES_MAX (16 * 1024 * 1024)

/*
 * Opens the folder and the lock file in it, and waits for the lock. The holder
 * removes the file, as in host/replace. False with errno.
 */
static bool
lock_folder(struct since_yes *s)
{
	s->dir = open(KV_STATEDIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (s->dir != -1) {
		s->lock = openat(s->dir, NAME_LOCK,
		    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		    0600);
		if (s->lock == -1)
			return false;
		while (flock(s->lock, LOCK_EX) == -1)
			if (errno != EINTR)
				return false;
		if (io_is_named(s->lock, s->dir, NAME_LOCK))
			return true;
		close(s->lock);
	}
	s->lock = -1;
	return false;
}

/* Returns the text of the file, to be freed; NULL if there is none. */
static char *
read_text(int dir)
{
	struct stat st;
	char *text = NULL;
	ssize_t len = -1;
	int fd = openat(dir, NAME,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd == -1)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 022) == 0 &&
	    st.st_size <= BYTES_MAX &&
	    (text = malloc((size_t)st.st_size + 1)) != NULL)
		len = io_read(fd, text, (size_t)st.st_size);
	close(fd);
	if (len == -1) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
}

void
since_yes_open(struct since_yes *s)
{
	char *text, *rest, *name;

	*s = (struct since_yes){ .dir = -1, .lock = -1 };
	if (!lock_folder(s))
		return;
	rest = text = read_text(s->dir);
	while (rest != NULL && (name = strsep(&rest, "\n")) != NULL)
		if (*name != '\0')
			(void)since_yes_add(s, name);
	s->changed = false;
	free(text);
}

bool
since_yes_add(struct since_yes *s, const char *name)
{
	const bool had = texts_has(&s->names, name);
	const bool added = !had && texts_add(&s->names, name);

	s->changed |= added;
	return had || added;
}

void
since_yes_filter(struct since_yes *s,
    bool (*stays)(const char *name, void *arg), void *arg)
{
	struct texts *t = &s->names;
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (stays != NULL && stays(t->v[i], arg))
			t->v[kept++] = t->v[i];
		else
			free(t->v[i]);
	}
	s->changed |= kept < t->n;
	t->n = kept;
}

/* Writes the new file, and renames it. False with errno. */
static bool
replace_file(const struct since_yes *s)
{
	int fd, saved;
	bool ok;

	/* Left by a killed run: we hold the lock. */
	(void)unlinkat(s->dir, NAME_NEW, 0);
	fd = openat(s->dir, NAME_NEW,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ok = fd != -1;
	for (size_t i = 0; ok && i < s->names.n; i++)
		ok = io_write(fd, s->names.v[i], strlen(s->names.v[i])) &&
		    io_write(fd, "\n", 1);
	ok = ok && fsync(fd) == 0 &&
	    renameat(s->dir, NAME_NEW, s->dir, NAME) == 0;
	saved = errno;
	if (!ok && fd != -1)
		(void)unlinkat(s->dir, NAME_NEW, 0);
	if (fd != -1)
		close(fd);
	errno = saved;
	return ok;
}

void
since_yes_save(struct since_yes *s)
{
	bool ok;

	if (!s->changed)
		return;
	ok = s->lock != -1 ||
	    (s->dir == -1 && mkdir(KV_STATEDIR, 0755) == 0 && lock_folder(s));
	ok = ok &&
	    (s->names.n > 0 ?
		    replace_file(s) :
		    unlinkat(s->dir, NAME, 0) == 0 || errno == ENOENT);
	if (!ok)
		cli_error("warning: cannot write " KV_STATEDIR "/" NAME
			  " (%s): the accounts that are refused now are not "
			  "counted next time",
		    strerror(errno));
	s->changed = !ok;
}

void
since_yes_close(struct since_yes *s)
{
	texts_free(&s->names);
	if (s->lock != -1) {
		(void)unlinkat(s->dir, NAME_LOCK, 0);
		close(s->lock);
	}
	if (s->dir != -1)
		close(s->dir);
	*s = (struct since_yes){ .dir = -1, .lock = -1 };
}
