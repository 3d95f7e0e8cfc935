/* SPDX-License-Identifier: ISC */
#include "publish/folder.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "host/memory.h"

#define NEW_NAME ".keyveto-new"
#define SCRATCH_NAME ".keyveto-scratch"
#define HEX "0123456789abcdef"
#define SHA256_DIGITS 64
#define DELTA_DIGITS 32

static const char *const part_name[FOLDER_PARTS] = {
	[FOLDER_FILES] = INDEX_FILES_DIR,
	[FOLDER_DELTAS] = INDEX_DELTAS_DIR,
};

struct folder_name
folder_packed(const char *sha256)
{
	struct folder_name name = { .part = FOLDER_FILES };

	index_packed_path(sha256, name.path);
	return name;
}

struct folder_name
folder_companion(const char *sha256)
{
	struct folder_name name = { .part = FOLDER_FILES };

	index_companion_path(sha256, name.path);
	return name;
}

struct folder_name
folder_delta(const struct index_delta *d)
{
	struct folder_name name = { .part = FOLDER_DELTAS };

	index_delta_path(d->from, d->to, name.path);
	return name;
}

/* Its name in files/ or deltas/. */
static const char *
base_of(const struct folder_name *name)
{
	return strchr(name->path, '/') + 1;
}

/* Prints what of path below the folder, with the text of errno. */
static bool
report(const struct folder *f, const char *path, const char *what)
{
	return cli_error("%s/%s: %s: %s", f->path, path, what, strerror(errno));
}

/* --- directories -------------------------------------------------------- */

static int
open_part(const struct folder *f, enum folder_part part)
{
	return openat(f->dir, part_name[part],
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Makes a directory, if there is none, with mode 0755 whatever the umask. */
static bool
make_part(struct folder *f, enum folder_part part)
{
	const char *name = part_name[part];
	bool made = false;
	int fd;

	if ((fd = f->part[part]) == -1 && errno == ENOENT) {
		made = mkdirat(f->dir, name, 0755) == 0;
		if (!made && errno != EEXIST)
			return report(f, name, "cannot be made");
	}
	if (fd == -1)
		fd = f->part[part] = open_part(f, part);
	if (fd == -1)
		return report(f, name, "cannot be opened as a directory");
	if (made && fchmod(fd, 0755) == -1)
		return report(f, name, "cannot be made");
	return true;
}

bool
folder_open(struct folder *f, const char *path, bool make)
{
	bool made = make && mkdir(path, 0755) == 0;

	*f = (struct folder){ .path = path,
		.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		.part = { -1, -1 } };
	if (f->dir == -1)
		return cli_failed(path, "cannot be opened as a directory");
	if (made && fchmod(f->dir, 0755) == -1)
		return cli_failed(path, "cannot be made");
	for (int i = 0; i < FOLDER_PARTS; i++)
		f->part[i] = open_part(f, (enum folder_part)i);
	return true;
}

/* Removes name in part, which no run that goes on can be writing. */
static bool
remove_leftover(const struct folder *f, enum folder_part part, const char *name)
{
	return unlinkat(f->part[part], name, 0) == 0 || errno == ENOENT ||
	    report(f, part_name[part],
		"cannot remove a file in it that a killed run left");
}

bool
folder_make_parts(struct folder *f)
{
	for (int i = 0; i < FOLDER_PARTS; i++) {
		const enum folder_part part = (enum folder_part)i;

		if (f->part[i] == -1)
			f->part[i] = open_part(f, part);
		if (!make_part(f, part) ||
		    !remove_leftover(f, part, NEW_NAME) ||
		    !remove_leftover(f, part, SCRATCH_NAME))
			return false;
	}
	return true;
}

void
folder_close(struct folder *f)
{
	for (int i = 0; i < FOLDER_PARTS; i++)
		io_close(f->part[i]);
	io_close(f->dir);
	*f = (struct folder){ .dir = -1, .part = { -1, -1 } };
}

/* Some file systems cannot flush a directory. */
static bool
flush_directory(int fd)
{
	return fd == -1 || fsync(fd) == 0 || errno == EINVAL;
}

bool
folder_flush(const struct folder *f)
{
	for (int i = 0; i < FOLDER_PARTS; i++)
		if (!flush_directory(f->part[i]))
			return report(f, part_name[i], "cannot be written");
	return flush_directory(f->dir) ||
	    cli_failed(f->path, "cannot be written");
}

/* --- files -------------------------------------------------------------- */

int
folder_find(const struct folder *f, const struct folder_name *name,
    uint64_t *sizep)
{
	const int part = f->part[name->part];
	struct stat st;
	int fd = -1;

	*sizep = 0;
	if (part != -1)
		fd = openat(part, base_of(name),
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd != -1 && (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd != -1)
		*sizep = (uint64_t)st.st_size;
	return fd;
}

bool
folder_has(const struct folder *f, const struct folder_name *name,
    uint64_t size)
{
	uint64_t has;
	int fd = folder_find(f, name, &has);

	if (fd == -1)
		return false;
	close(fd);
	return has == size;
}

bool
folder_new(const struct folder *f, enum folder_part part, struct folder_new *n)
{
	*n = (struct folder_new){ .folder = f, .part = part, .fd = -1 };
	if (!remove_leftover(f, part, NEW_NAME))
		return false;
	n->fd = openat(f->part[part], NEW_NAME,
	    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	/* A web server reads it, whatever the umask of the administrator. */
	return (n->fd != -1 && fchmod(n->fd, 0644) == 0) ||
	    report(f, part_name[part], "cannot make a file in it");
}

bool
folder_put(struct folder_new *n, const struct folder_name *name)
{
	const int part = n->folder->part[n->part];

	if (fsync(n->fd) == -1 ||
	    renameat(part, NEW_NAME, part, base_of(name)) == -1)
		return report(n->folder, name->path, "cannot be written");
	close(n->fd);
	n->fd = -1;
	return true;
}

void
folder_drop(struct folder_new *n)
{
	if (n->fd == -1)
		return;
	(void)unlinkat(n->folder->part[n->part], NEW_NAME, 0);
	close(n->fd);
	n->fd = -1;
}

int
folder_scratch(const struct folder *f)
{
	const int part = f->part[FOLDER_FILES];
	/* A dry run makes no directory. */
	int fd = part == -1 ?
	    memory_file("scratch") :
	    openat(part, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd == -1 && part != -1 &&
	    (errno == EOPNOTSUPP || errno == EINVAL || errno == EISDIR) &&
	    remove_leftover(f, FOLDER_FILES, SCRATCH_NAME)) {
		fd = openat(part, SCRATCH_NAME,
		    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd != -1)
			(void)unlinkat(part, SCRATCH_NAME, 0);
	}
	if (fd == -1)
		report(f, INDEX_FILES_DIR, "cannot make a file in it");
	return fd;
}

/* --- pruning ------------------------------------------------------------ */

/* Whether this program gives such names to files in that directory. */
static bool
is_ours(enum folder_part part, const char *name)
{
	size_t digits = strspn(name, HEX);
	const char *rest = name + digits;

	if (part == FOLDER_FILES)
		return digits == SHA256_DIGITS &&
		    (*rest == '\0' || strcmp(rest, ".xz") == 0);
	return digits == DELTA_DIGITS && *rest == '-' &&
	    strspn(rest + 1, HEX) == DELTA_DIGITS &&
	    strcmp(rest + 1 + DELTA_DIGITS, ".delta") == 0;
}

/* Removes name, if it is a regular file that is ours and not to be kept. */
static bool
prune_one(const struct folder *f, enum folder_part part, const char *name,
    bool (*keep)(const char *path, void *arg), void *arg, uint64_t *np)
{
	char path[INDEX_PATH_BYTES];
	struct stat st;

	if (!is_ours(part, name))
		return true;
	snprintf(path, sizeof(path), "%s/%.80s", part_name[part], name);
	if (keep(path, arg) ||
	    fstatat(f->part[part], name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISREG(st.st_mode))
		return true;
	if (unlinkat(f->part[part], name, 0) == -1 && errno != ENOENT)
		return report(f, path, "cannot be removed");
	(*np)++;
	return true;
}

static bool
prune_part(const struct folder *f, enum folder_part part,
    bool (*keep)(const char *path, void *arg), void *arg, uint64_t *np)
{
	const int fd = open_part(f, part);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool ok = true;

	if (dir == NULL) {
		io_close(fd);
		return report(f, part_name[part], "cannot be read");
	}
	while ((errno = 0, entry = readdir(dir)) != NULL)
		ok = prune_one(f, part, entry->d_name, keep, arg, np) && ok;
	if (errno != 0)
		ok = report(f, part_name[part], "cannot be read");
	closedir(dir);
	return ok;
}

bool
folder_prune(const struct folder *f, bool (*keep)(const char *path, void *arg),
    void *arg, uint64_t *np)
{
	bool ok = true;

	*np = 0;
	for (int i = 0; i < FOLDER_PARTS; i++)
		ok = prune_part(f, (enum folder_part)i, keep, arg, np) && ok;
	return ok;
}
