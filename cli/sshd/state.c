/* SPDX-License-Identifier: ISC */
#include "sshd/state.h"

#include <sys/stat.h>

#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "host/system_file.h"
#include "base/io.h"
#include "kv_config.h"

#define NAME "sshd-state"
#define NEW NAME ".new"
#define LOCK "." NAME ".lock"
#define MANIFEST "manifest.json"

static bool
print_error(const char *name)
{
	return cli_error(KV_STATEDIR "/%s: %s", name, strerror(errno));
}

/* -1 after a message. */
static int
open_statedir(void)
{
	int fd = system_file_open(KV_STATEDIR, O_RDONLY | O_DIRECTORY);

	if (fd == -1)
		cli_error(KV_STATEDIR ": %s; make install makes it",
		    strerror(errno));
	return fd;
}

bool
sshd_state_lock(int *fdp)
{
	const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
	int dir = open_statedir(), fd;

	*fdp = -1;
	if (dir == -1)
		return false;
	for (;;) {
		if ((fd = openat(dir, LOCK, flags, 0600)) == -1) {
			print_error(LOCK);
			break;
		}
		if (!io_lock(fd)) {
			if (errno == EWOULDBLOCK)
				cli_error(KV_STATEDIR
				    "/" LOCK
				    ": another keyveto changes sshd's files; wait "
				    "until it has ended, then run this again");
			else
				print_error(LOCK);
			close(fd);
			fd = -1;
			break;
		}
		/* sshd_state_unlock removes the file: retry if it has. */
		if (io_is_named(fd, dir, LOCK))
			break;
		close(fd);
	}
	close(dir);
	*fdp = fd;
	return fd != -1;
}

void
sshd_state_unlock(int fd)
{
	int dir;

	if (fd == -1)
		return;
	dir = system_file_open(KV_STATEDIR, O_RDONLY | O_DIRECTORY);
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
	bool ok = fd != -1 && io_write(fd, text, len) && fsync(fd) == 0;

	if (fd != -1 && close(fd) == -1)
		ok = false;
	return ok;
}

static int
compare_paths(const void *a, const void *b)
{
	const struct sshd_file *const *f = a, *const *g = b;

	return strcmp((*f)->path, (*g)->path);
}

/*
 * Writes into dir the base of each file, under the file's number, and the
 * manifest. Nothing here reads mode, uid and gid: they are for a person who
 * puts a file back by hand. The files are sorted by path, so that a second
 * enable writes the same state.
 */
static bool
write_state(int dir, const struct sshd_files *fs, bool now)
{
	struct sshd_file **v = calloc(fs->n + 1, sizeof(struct sshd_file *));
	json_t *list = json_array(), *all = NULL;
	char *text = NULL, name[32];
	bool ok = list != NULL && v != NULL;

	if (ok && fs->n > 0) {
		memcpy(v, fs->v, fs->n * sizeof(struct sshd_file *));
		qsort(v, fs->n, sizeof(struct sshd_file *), compare_paths);
	}
	for (size_t i = 0; ok && i < fs->n; i++) {
		const struct sshd_file *f = v[i];
		json_t *one;

		if (now ? f->blocks == 0 : f->next == NULL)
			continue;
		snprintf(name, sizeof(name), "%zu", json_array_size(list));
		ok = f->made || write_file(dir, name, f->base, f->base_len);
		one = f->made ?
		    json_pack("{s:s%, s:b}", "path", f->path, strlen(f->path),
			"there", 0) :
		    json_pack("{s:s%, s:b, s:s, s:I, s:I, s:I}", "path",
			f->path, strlen(f->path), "there", 1, "bytes", name,
			"mode", (json_int_t)(f->st.st_mode & 07777), "uid",
			(json_int_t)f->st.st_uid, "gid",
			(json_int_t)f->st.st_gid);
		ok = json_array_append_new(list, one) == 0 && ok;
	}
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

bool
sshd_state_save(const struct sshd_files *fs, bool now)
{
	int parent = open_statedir(), dir = -1;
	bool ok;

	if (parent == -1)
		return false;
	ok = remove_dir(parent, NEW) && mkdirat(parent, NEW, 0700) == 0 &&
	    (dir = openat(parent, NEW,
		 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) != -1 &&
	    write_state(dir, fs, now);
	/* Puts NEW in the place of NAME, atomically; then removes the old. */
	if (ok && io_exchange(parent, NEW, NAME, true))
		ok = fsync(parent) == 0 && remove_dir(parent, NEW);
	else if (ok)
		ok = errno == ENOENT &&
		    renameat(parent, NEW, parent, NAME) == 0 &&
		    fsync(parent) == 0;
	if (!ok) {
		print_error(NEW);
		(void)remove_dir(parent, NEW);
	}
	io_close(dir);
	close(parent);
	return ok;
}

bool
sshd_state_remove(void)
{
	int parent = open_statedir();
	bool ok;

	if (parent == -1)
		return false;
	ok = (remove_dir(parent, NEW) && remove_dir(parent, NAME) &&
		 fsync(parent) == 0) ||
	    print_error(NAME);
	close(parent);
	return ok;
}

/* Reads the files that the manifest names. */
static bool
read_manifest(struct sshd_state *s, const json_t *all)
{
	const json_t *list = json_object_get(all, "files");
	const size_t n = json_array_size(list);
	char place[PATH_MAX];
	int version;

	if (json_unpack((json_t *)all, "{s:i}", "version", &version) == -1 ||
	    version != 1 || !json_is_array(list) ||
	    (s->v = calloc(n + 1, sizeof(*s->v))) == NULL)
		return false;
	for (; s->n < n; s->n++) {
		const char *path, *name = NULL;
		struct sshd_kept *k = &s->v[s->n];
		int there;

		if (json_unpack(json_array_get(list, s->n), "{s:s, s:b, s?s}",
			"path", &path, "there", &there, "bytes", &name) == -1 ||
		    *path != '/' ||
		    (there && (name == NULL || strchr(name, '/') != NULL)))
			return false;
		if (there) {
			snprintf(place, sizeof(place), SSHD_STATE_DIR "/%s",
			    name);
			k->text = system_file_read(place, &k->len);
			if (k->text == NULL)
				return false;
		}
		k->there = there != 0;
		if ((k->path = strdup(path)) == NULL) {
			free(k->text);
			return false;
		}
	}
	return true;
}

bool
sshd_state_load(struct sshd_state *s)
{
	json_t *all;
	char *text;
	size_t len;

	*s = (struct sshd_state){ 0 };
	text = system_file_read(SSHD_STATE_DIR "/" MANIFEST, &len);
	if (text == NULL)
		return errno == ENOENT || print_error(NAME "/" MANIFEST);
	errno = 0;
	all = json_loadb(text, len, 0, NULL);
	free(text);
	s->found = all != NULL && read_manifest(s, all);
	if (!s->found && errno == ENOMEM)
		print_error(NAME);
	else if (!s->found)
		cli_error(SSHD_STATE_DIR
		    "/" MANIFEST
		    ": damaged; the files that enable kept are beside it. To "
		    "go on without them, move " SSHD_STATE_DIR " away");
	json_decref(all);
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
