/* SPDX-License-Identifier: ISC */
#include "sshd/state.h"

#include <sys/file.h>

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/root_file.h"
#include "host/write.h"
#include "kv_config.h"

#define NAME "sshd-state"
#define NEW NAME ".new"
#define LOCK "." NAME ".lock"
#define MANIFEST "manifest.json"

static bool
print_error(const char *root, const char *name)
{
	cli_error("%s" KV_STATEDIR "/%s: %s", root, name, strerror(errno));
	return false;
}

/* -1 after a message. */
static int
open_statedir(const char *root)
{
	int fd = root_open(root, KV_STATEDIR, O_RDONLY | O_DIRECTORY);

	if (fd == -1)
		cli_error("%s" KV_STATEDIR ": %s; make install makes it", root,
		    strerror(errno));
	return fd;
}

bool
sshd_state_lock(const char *root, int *fdp)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
	int dir = open_statedir(root), fd;
	struct stat mine, named;

	*fdp = -1;
	if (dir == -1)
		return false;
	for (;;) {
		if ((fd = openat(dir, LOCK, flags, 0600)) == -1) {
			print_error(root, LOCK);
			break;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
			cli_error("%s" KV_STATEDIR "/" LOCK ": another keyveto "
				  "sshd is at work; wait until it has ended, "
				  "then run this again",
			    root);
			close(fd);
			fd = -1;
			break;
		}
		/* sshd_state_unlock removes the file: retry if it has. */
		if (fstat(fd, &mine) == 0 &&
		    fstatat(dir, LOCK, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
			break;
		close(fd);
	}
	close(dir);
	*fdp = fd;
	return fd != -1;
}

void
sshd_state_unlock(const char *root, int fd)
{
	int dir;

	if (fd == -1)
		return;
	dir = root_open(root, KV_STATEDIR, O_RDONLY | O_DIRECTORY);
	if (dir != -1) {
		(void)unlinkat(dir, LOCK, 0);
		close(dir);
	}
	close(fd);
}

/*
 * Removes a directory of plain files, if it exists. False with errno. Removes
 * the manifest first: if the process is killed here, no manifest is left that
 * names missing files, which sshd_state_load would call damaged.
 */
static bool
remove_dir(int parent, const char *name)
{
	int fd = openat(parent, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct dirent *e;
	DIR *dir;

	if (fd == -1)
		return errno == ENOENT;
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return false;
	}
	(void)unlinkat(dirfd(dir), MANIFEST, 0);
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

static bool
write_file(int dir, const char *name, const char *text, size_t len)
{
	int fd = openat(dir, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool ok = fd != -1 && write_all(fd, text, len) && fsync(fd) == 0;

	if (fd != -1 && close(fd) == -1)
		ok = false;
	return ok;
}

/*
 * Writes the file's base into dir, under that number. Returns the file's entry
 * in the manifest, or NULL.
 */
static json_t *
keep_file(int dir, const struct sshd_file *f, size_t number)
{
	char name[32];

	if (f->made)
		return json_pack("{s:s%, s:b}", "path", f->path,
		    strlen(f->path), "there", 0);
	snprintf(name, sizeof(name), "%zu", number);
	if (!write_file(dir, name, f->base, f->base_len))
		return NULL;
	return json_pack("{s:s%, s:b, s:s, s:I, s:I, s:I}", "path", f->path,
	    strlen(f->path), "there", 1, "bytes", name, "mode",
	    (json_int_t)(f->st.st_mode & 07777), "uid",
	    (json_int_t)f->st.st_uid, "gid", (json_int_t)f->st.st_gid);
}

static int
compare_paths(const void *a, const void *b)
{
	const struct sshd_file *const *f = a, *const *g = b;

	return strcmp((*f)->path, (*g)->path);
}

/* The files that sshd_state_save keeps, sorted by path. NULL without memory. */
static struct sshd_file **
kept_files(const struct sshd_files *fs, bool now, size_t *np)
{
	struct sshd_file **v = calloc(fs->n + 1, sizeof(struct sshd_file *));

	*np = 0;
	for (size_t i = 0; v != NULL && i < fs->n; i++)
		if (now ? fs->v[i]->blocks > 0 : fs->v[i]->next != NULL)
			v[(*np)++] = fs->v[i];
	if (*np > 1)
		qsort(v, *np, sizeof(struct sshd_file *), compare_paths);
	return v;
}

static bool
write_state(int dir, const struct sshd_files *fs, bool now)
{
	json_t *list = json_array(), *all = NULL;
	char *text = NULL;
	size_t n;
	struct sshd_file **v = kept_files(fs, now, &n);
	bool ok = list != NULL && v != NULL;

	for (size_t i = 0; ok && i < n; i++)
		ok = json_array_append_new(list, keep_file(dir, v[i], i)) == 0;
	free(v);
	if (ok)
		all = json_pack("{s:i, s:O}", "version", 1, "files", list);
	if (all != NULL)
		text = json_dumps(all, JSON_INDENT(1));
	ok = text != NULL && write_file(dir, MANIFEST, text, strlen(text)) &&
	    fsync(dir) == 0;
	free(text);
	json_decref(all);
	json_decref(list);
	return ok;
}

/* Puts NEW in the place of NAME, atomically, and removes the old one. */
static bool
publish(int parent)
{
	if (renameat2(parent, NEW, parent, NAME, RENAME_EXCHANGE) == 0)
		return fsync(parent) == 0 && remove_dir(parent, NEW);
	return errno == ENOENT && renameat(parent, NEW, parent, NAME) == 0 &&
	    fsync(parent) == 0;
}

bool
sshd_state_save(const struct sshd_files *fs, bool now)
{
	int parent = open_statedir(fs->root), dir = -1;
	bool ok;

	if (parent == -1)
		return false;
	ok = remove_dir(parent, NEW) && mkdirat(parent, NEW, 0700) == 0 &&
	    (dir = openat(parent, NEW,
		 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) != -1 &&
	    write_state(dir, fs, now) && publish(parent);
	if (!ok) {
		print_error(fs->root, NEW);
		(void)remove_dir(parent, NEW);
	}
	if (dir != -1)
		close(dir);
	close(parent);
	return ok;
}

bool
sshd_state_remove(const char *root)
{
	int parent = open_statedir(root);
	bool ok;

	if (parent == -1)
		return false;
	ok = (remove_dir(parent, NEW) && remove_dir(parent, NAME) &&
		 fsync(parent) == 0) ||
	    print_error(root, NAME);
	close(parent);
	return ok;
}

static bool
add_kept(const char *root, struct sshd_state *s, const json_t *one)
{
	const char *path = NULL, *name = NULL;
	char place[PATH_MAX];
	struct sshd_kept *k = &s->v[s->n];
	int there = 0;

	if (json_unpack((json_t *)one, "{s:s, s:b, s?s}", "path", &path,
		"there", &there, "bytes", &name) == -1 ||
	    *path != '/' ||
	    (there && (name == NULL || strchr(name, '/') != NULL)))
		return false;
	*k = (struct sshd_kept){ .path = strdup(path), .there = there != 0 };
	if (k->path == NULL)
		return false;
	s->n++;
	if (!there)
		return true;
	snprintf(place, sizeof(place), SSHD_STATE_DIR "/%s", name);
	return (k->text = root_read(root, place, &k->len)) != NULL;
}

static bool
read_manifest(const char *root, struct sshd_state *s, const json_t *all)
{
	const json_t *list = json_object_get(all, "files");
	int version;

	if (json_unpack((json_t *)all, "{s:i}", "version", &version) == -1 ||
	    version != 1 || !json_is_array(list))
		return false;
	s->v = calloc(json_array_size(list) + 1, sizeof(*s->v));
	for (size_t i = 0; s->v != NULL && i < json_array_size(list); i++)
		if (!add_kept(root, s, json_array_get(list, i)))
			return false;
	return s->v != NULL;
}

bool
sshd_state_load(const char *root, struct sshd_state *s)
{
	json_t *all;
	char *text;
	size_t len;

	*s = (struct sshd_state){ 0 };
	text = root_read(root, SSHD_STATE_DIR "/" MANIFEST, &len);
	if (text == NULL)
		return errno == ENOENT || print_error(root, NAME "/" MANIFEST);
	all = json_loadb(text, len, 0, NULL);
	free(text);
	s->found = all != NULL && read_manifest(root, s, all);
	json_decref(all);
	if (!s->found)
		cli_error("%s" SSHD_STATE_DIR "/" MANIFEST ": damaged; the "
			  "files that enable kept are beside it. To go on "
			  "without them, move %s" SSHD_STATE_DIR " away",
		    root, root);
	return s->found;
}

void
sshd_state_free(struct sshd_state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].path);
		free(s->v[i].text);
	}
	free(s->v);
	*s = (struct sshd_state){ 0 };
}

const struct sshd_kept *
sshd_state_find(const struct sshd_state *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->v[i].path, path) == 0)
			return &s->v[i];
	return NULL;
}
