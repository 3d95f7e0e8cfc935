/* SPDX-License-Identifier: ISC */
#include "sshd/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "base/io.h"
#include "base/room.h"
#include "host/replace.h"
#include "host/system_file.h"
#include "kv_config.h"
#include "sshd_config/block.h"

#define BLOCK_BYTES 1024 /* more than keyveto's lines need */

struct sshd_file *
sshd_files_find(const struct sshd_files *fs, const char *path)
{
	for (size_t i = 0; i < fs->n; i++)
		if (strcmp(fs->v[i]->path, path) == 0)
			return fs->v[i];
	return NULL;
}

static bool
is_special(const char *path)
{
	const int fd = system_file_open(path, O_PATH);
	struct stat st;
	const bool special = fd != -1 && fstat(fd, &st) == 0 &&
	    !S_ISREG(st.st_mode);

	io_close(fd);
	return special || system_file_is_masked(path);
}

/* Sets now, there and st, or special. False with errno. */
static bool
read_now(struct sshd_file *f)
{
	int fd, error;
	bool ok;

	f->now = system_file_read(f->path, &f->now_len);
	error = errno;
	f->too_large = f->whose == SSHD_FILE_KEYVETOS &&
	    (f->now == NULL ? error == EMSGSIZE :
			      f->now_len > KV_CONFIG_MAX_BYTES - BLOCK_BYTES);
	f->special = f->now == NULL && is_special(f->path);
	f->was_there = f->there = f->now != NULL || f->special || f->too_large;
	if (f->now == NULL && (f->special || error == ENOENT))
		return (f->now = strdup("")) != NULL;
	if (f->now == NULL && f->too_large)
		f->now = strdup("");
	errno = error;
	if (f->now == NULL || (fd = system_file_open(f->path, O_PATH)) == -1)
		return false;
	ok = fstat(fd, &f->st) == 0;
	io_close(fd);
	return ok;
}

/* Sets all of f but path and next. False after a message. */
static bool
read_file(struct sshd_file *f)
{
	char why[512];

	f->whose = strcmp(f->path, KV_CONFIG_PATH) == 0 ?
	    SSHD_FILE_KEYVETOS :
	    strncmp(f->path, SSHD_PAM_DIR, sizeof(SSHD_PAM_DIR) - 1) == 0 ?
	    SSHD_FILE_PAMS :
	    SSHD_FILE_SSHDS;
	if (!read_now(f))
		return cli_error("%s: %s", f->path, strerror(errno));
	f->base = sshd_block_remove(f->now, f->now_len, &f->base_len,
	    &f->blocks, why, sizeof(why));
	if (f->base == NULL)
		cli_error("%s:%s", f->path, why);
	f->made = !f->there || (f->blocks > 0 && f->base_len == 0);
	return f->base != NULL;
}

static void
free_file(struct sshd_file *f)
{
	if (f == NULL)
		return;
	free(f->path);
	free(f->now);
	free(f->base);
	free(f->next);
	free(f->found);
	free(f->kept);
	free(f);
}

struct sshd_file *
sshd_files_add(struct sshd_files *fs, const char *path)
{
	struct sshd_file *f = sshd_files_find(fs, path);

	if (f != NULL)
		return f;
	f = calloc(1, sizeof(*f));
	if (f == NULL || (f->path = strdup(path)) == NULL ||
	    !room_for_one(&fs->v, fs->n, sizeof(struct sshd_file *)))
		cli_error("%s", strerror(errno));
	else if (read_file(f))
		return fs->v[fs->n++] = f;
	free_file(f);
	return NULL;
}

bool
sshd_file_insert(struct sshd_file *f, size_t line, const char *lines)
{
	const char *text = f->next != NULL ? f->next : f->base;
	size_t len = f->next != NULL ? f->next_len : f->base_len;
	char *next;

	if (f->special)
		return cli_error("%s: not a regular file: keyveto's lines "
				 "cannot be put there; nothing was changed: "
				 "make it one, and run this again",
		    f->path);
	next = sshd_block_insert(text, len, line, lines, &len);
	if (next == NULL)
		return cli_error("%s", strerror(errno));
	free(f->next);
	f->next = next;
	f->next_len = len;
	return true;
}

bool
sshd_files_have_lines(const struct sshd_files *fs, enum sshd_file_owner whose)
{
	for (size_t i = 0; i < fs->n; i++)
		if (fs->v[i]->blocks > 0 && fs->v[i]->whose == whose)
			return true;
	return false;
}

struct sshd_change *
sshd_files_changes(const struct sshd_files *fs, bool next, size_t *np)
{
	static const char top[] = "Include " SSHD_TREE_DROP_INS "/*.conf\n";
	struct sshd_change *c = calloc(fs->n + 1, sizeof(*c));

	for (size_t i = 0; c != NULL && i < fs->n; i++) {
		const struct sshd_file *f = fs->v[i];
		const bool by_next = next && f->next != NULL;

		c[i].path = f->path;
		c[i].text = by_next ? f->next : f->base;
		c[i].len = by_next ? f->next_len : f->base_len;
		if (!f->was_there && strcmp(f->path, SSHD_TREE_TOP) == 0) {
			c[i].text = top;
			c[i].len = sizeof(top) - 1;
		} else if (f->made && c[i].len == 0)
			c[i].text = NULL;
	}
	*np = fs->n;
	return c;
}

static bool
check_unchanged(const struct replace *r, const struct sshd_file *f)
{
	char *text = malloc(f->now_len + 1);
	ssize_t n = text != NULL && r->old != -1 ?
	    io_read(r->old, text, f->now_len + 1) :
	    0;
	/* The text of one that is much too large was not read. */
	bool same = f->too_large && f->now_len == 0 ?
	    r->old != -1 :
	    text != NULL && (r->old != -1) == f->there &&
		n == (ssize_t)f->now_len &&
		memcmp(text, f->now, f->now_len) == 0;

	free(text);
	if (!same)
		cli_error("%s: another program changed it meanwhile; nothing "
			  "was written, run this again",
		    r->path);
	return same;
}

/* Where a too large file was kept: beside the place of the new one. */
static char *
name_kept(const struct sshd_file *f, const struct replace *r)
{
	char place[PATH_MAX], *path;

	if (!system_file_resolve(f->path, place) ||
	    asprintf(&path, "%.*s%s", (int)(strrchr(place, '/') + 1 - place),
		place, r->kept_name) == -1)
		return NULL;
	return path;
}

bool
sshd_file_put_back(struct sshd_file *f)
{
	char place[PATH_MAX];

	if (f->kept == NULL)
		return f->found == NULL ||
		    sshd_file_write(f, f->found, f->found_len);
	return (system_file_resolve(f->path, place) &&
		   rename(f->kept, place) == 0) ||
	    cli_error("%s: cannot be moved back: %s", f->kept, strerror(errno));
}

bool
sshd_file_write(struct sshd_file *f, const char *text, size_t len)
{
	const bool gone = len == 0 && f->made;
	struct replace r;
	bool ok, changed;
	char *now;

	if (f->there != gone && len == f->now_len &&
	    memcmp(text, f->now, len) == 0)
		return true;
	if (gone && !f->there)
		return true;
	if ((now = malloc(len + 1)) == NULL)
		return cli_error("%s: %s", f->path, strerror(errno));
	ok = replace_open(&r, f->path) && check_unchanged(&r, f);
	changed = false;
	if (ok && gone) {
		changed = unlinkat(r.dir, r.name, 0) == 0 || errno == ENOENT;
		ok = changed && (fsync(r.dir) == 0 || errno == EINVAL);
		if (!ok)
			cli_error("%s: cannot be removed: %s", f->path,
			    strerror(errno));
		if (changed)
			cli_note_change(f->path);
	} else if (ok) {
		r.change = CHANGE_JUDGED;
		r.keep_beside = f->too_large && f->found == NULL;
		ok = replace_begin(&r) && replace_write_text(&r, text, len) &&
		    replace_commit(&r);
		changed = ok || io_is_named(r.fd, r.dir, r.name);
		if (r.keep_beside && changed)
			f->kept = name_kept(f, &r);
	}
	replace_close(&r);
	if (!changed) {
		free(now);
		return false;
	}
	memcpy(now, text, len);
	now[len] = '\0';
	if (f->found == NULL) {
		f->found = f->now;
		f->found_len = f->now_len;
	} else
		free(f->now);
	f->now = now;
	f->now_len = len;
	f->there = !gone;
	return ok;
}

void
sshd_files_free(struct sshd_files *fs)
{
	for (size_t i = 0; i < fs->n; i++)
		free_file(fs->v[i]);
	free(fs->v);
	*fs = (struct sshd_files){ .n = 0 };
}
