/* SPDX-License-Identifier: ISC */
#include "host/mounts.h"

#include <sys/stat.h>

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

#define FSTAB "/etc/fstab"
#define FIRST_ROOT "/proc/1/root/"
#define FIRST_MOUNTED "/proc/1/mounts"
#define OWN_MOUNTED "/proc/self/mounts"

/* Whether path is the folder or below it. */
static bool
is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	/* "/" ends in the slash itself. */
	len -= len == 1;
	return strncmp(path, folder, len) == 0 &&
	    (path[len] == '\0' || path[len] == '/');
}

/*
 * Sets place to path with the links of all folders that exist resolved. False
 * if it is too long.
 */
static bool
resolve(const char *path, char place[static PATH_MAX])
{
	char known[PATH_MAX], *slash;
	size_t len = strlen(path);

	if (len >= sizeof(known))
		return false;
	memcpy(known, path, len + 1);
	while (realpath(known, place) == NULL) {
		if ((slash = strrchr(known, '/')) == NULL)
			return false;
		*slash = '\0';
		len = (size_t)(slash - known);
		if (slash == known)
			memcpy(known, "/", 2);
	}
	/* What follows exists nowhere. */
	if (strcmp(place, "/") == 0)
		*place = '\0';
	path += len;
	len = strlen(place);
	if (len + strlen(path) >= PATH_MAX)
		return false;
	memcpy(place + len, path, strlen(path) + 1);
	return true;
}

static void
remove_text(struct texts *t, const char *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (strcmp(t->v[i], text) == 0)
			free(t->v[i]);
		else
			t->v[kept++] = t->v[i];
	}
	t->n = kept;
}

/*
 * Opens the list of what is mounted. A service may have a mount point of its own
 * where this machine has none (ProtectHome of systemd): the list of the first
 * process shows that, unless its files are not ours.
 */
static FILE *
open_mounted(void)
{
	struct stat its, ours;
	FILE *file = NULL;

	if (stat(FIRST_ROOT, &its) == 0 && stat("/", &ours) == 0 &&
	    io_is_same(&its, &ours))
		file = setmntent(FIRST_MOUNTED, "re");
	return file != NULL ? file : setmntent(OWN_MOUNTED, "re");
}

void
mounts_read(struct mounts *m)
{
	char place[PATH_MAX];
	struct mntent *e;
	FILE *file;

	*m = (struct mounts){ .autofs = false };
	if ((file = setmntent(FSTAB, "re")) != NULL) {
		while ((e = getmntent(file)) != NULL)
			if (*e->mnt_dir == '/' &&
			    strcmp(e->mnt_type, MNTTYPE_SWAP) != 0 &&
			    resolve(e->mnt_dir, place) && *place != '\0')
				/* Without memory it is left out. */
				(void)texts_add(&m->missing, place);
		endmntent(file);
	}
	if ((file = open_mounted()) == NULL) {
		mounts_free(m);
		return;
	}
	/* Below a mount point of systemd's automount is an autofs, at least. */
	while ((e = getmntent(file)) != NULL) {
		m->autofs |= strcmp(e->mnt_type, "autofs") == 0;
		remove_text(&m->missing, e->mnt_dir);
	}
	endmntent(file);
}

void
mounts_free(struct mounts *m)
{
	texts_free(&m->missing);
	m->autofs = false;
}

const char *
mounts_missing(const struct mounts *m, const char *path)
{
	char place[PATH_MAX];

	if (m->missing.n == 0 || !resolve(path, place))
		return NULL;
	for (size_t i = 0; i < m->missing.n; i++)
		if (is_below(place, m->missing.v[i]))
			return m->missing.v[i];
	return NULL;
}

bool
mounts_awaits(const struct mounts *m, const char *path)
{
	char place[PATH_MAX];
	bool awaits = false;
	size_t longest = 0;
	struct mntent *e;
	FILE *file;

	if (!m->autofs || !resolve(path, place) ||
	    (file = setmntent(OWN_MOUNTED, "re")) == NULL)
		return false;
	/* The longest mount point counts, and the last of several on one. */
	while ((e = getmntent(file)) != NULL) {
		if (!is_below(place, e->mnt_dir) ||
		    strlen(e->mnt_dir) < longest)
			continue;
		longest = strlen(e->mnt_dir);
		awaits = strcmp(e->mnt_type, "autofs") == 0;
	}
	endmntent(file);
	return awaits;
}
