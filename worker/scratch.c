/* SPDX-License-Identifier: ISC */
#include "scratch.h"

#include <sys/stat.h>

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <unistd.h>

#include "host/files.h"

/* SQLite's database is temporary: it opens no other file. */
static int
open_scratch(const char *path, int flags, int mode)
{
	(void)path;
	(void)flags;
	(void)mode;
	return files_scratch();
}

/* Each folder may be written, and no file exists. */
static int
find_folder(const char *path, int mode)
{
	(void)path;
	errno = ENOENT;
	return mode == F_OK ? -1 : 0;
}

/*
 * With 32 bits, SQLite's struct may be shorter than ours, whose times are wider.
 * This is all that it looks at.
 */
static int
stat_folder(const char *path, struct stat *st)
{
	(void)path;
	st->st_mode = S_IFDIR | 0700;
	return 0;
}

/* The file has no name. */
static int
unlink_nothing(const char *path)
{
	(void)path;
	errno = ENOENT;
	return -1;
}

void
scratch_for_sqlite(void)
{
	sqlite3_vfs *vfs;

	if (sqlite3_initialize() != SQLITE_OK ||
	    (vfs = sqlite3_vfs_find("unix")) == NULL ||
	    vfs->xSetSystemCall == NULL)
		return;
	(void)vfs->xSetSystemCall(vfs, "open",
	    (sqlite3_syscall_ptr)open_scratch);
	(void)vfs->xSetSystemCall(vfs, "access",
	    (sqlite3_syscall_ptr)find_folder);
	(void)vfs->xSetSystemCall(vfs, "stat",
	    (sqlite3_syscall_ptr)stat_folder);
	(void)vfs->xSetSystemCall(vfs, "unlink",
	    (sqlite3_syscall_ptr)unlink_nothing);
}
