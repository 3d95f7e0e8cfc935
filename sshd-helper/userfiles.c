/* SPDX-License-Identifier: ISC */
#include "userfiles.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv_line.h"
#include "kv_lines.h"
#include "kv_wildcards.h"

#define SEARCH_MAX_BYTES (64 * 1024 * 1024)
#define COPY_BYTES (64 * 1024)
/* Only the pages that a file fills are touched. */
#define LINE_BYTES (2 * 1024 * 1024)

/*
 * Called for each file. file->fd is the callee's to close, unless it is -1.
 * Returns false to stop the walk.
 */
typedef bool (*found_fn)(const struct userfile *file, void *arg);

struct walk {
	const struct userfiles *files;
	const struct kv_account *account;
	found_fn found;
	void *arg;
};

/* Finds a file or folder that cannot be read, for the errno in error. */
static bool
find_unread(const struct walk *w, const char *path, const char *what, int error)
{
	struct userfile f;

	f.fd = -1;
	f.error = error;
	snprintf(f.text, sizeof(f.text), "%.300s: %s%.100s", path, what,
	    strerror(error));
	return w->found(&f, w->arg);
}

static bool
walk_file(const char *path, void *arg)
{
	const struct walk *w = arg;
	struct userfile f;
	enum kv_err err;

	err = kv_userfile_open(path, w->account, w->files->strictmodes, &f.fd,
	    f.text);
	f.error = err == KV_ERR_SYSTEM ? errno : 0;
	if (f.error == ENOENT)
		return true;
	if (err == KV_OK)
		snprintf(f.text, sizeof(f.text), "%.300s", path);
	return w->found(&f, w->arg);
}

/* The state of a walk through the files that match a pattern. */
struct matched {
	struct walk *walk;
	bool go_on;
	int error; /* errno when the walk stopped */
};

static bool
walk_matched(const char *path, void *arg)
{
	struct matched *m = arg;

	m->go_on = walk_file(path, m->walk);
	m->error = errno;
	return m->go_on;
}

/*
 * Walks the files that match. sshd ignores places that it cannot search; the
 * log names them.
 */
static bool
walk_pattern(struct walk *w, const char *pattern)
{
	struct matched m = { .walk = w, .go_on = true };
	enum kv_err r;
	int error;

	r = kv_wildcards_find(pattern, walk_matched, &m, &error);
	if (r == KV_ERR_MEMORY) {
		errno = ENOMEM;
		return false;
	}
	if (r != KV_OK)
		error = ENAMETOOLONG;
	if (error != 0 &&
	    !find_unread(w, pattern, "cannot be searched: ", error))
		return false;
	errno = m.error;
	return m.go_on;
}

static bool
walk_all(struct walk *w)
{
	char path[PATH_MAX];

	const struct userfiles *files = w->files;

	for (size_t i = 0; i < files->n; i++) {
		const char *pattern = files->pattern[i];
		bool r;

		if ((files->expanded ? kv_userfile_place(pattern, w->account,
					   path, sizeof(path)) :
				       kv_userfile_expand(pattern, w->account,
					   path, sizeof(path))) != KV_OK) {
			static const struct userfile too_long = {
				.fd = -1,
				.text = "path of authorized keys file is too "
					"long",
			};

			if (!w->found(&too_long, w->arg))
				return false;
			continue;
		}
		if (kv_wildcards_apply(files->wildcards, pattern))
			r = walk_pattern(w, path);
		else
			r = walk_file(path, w);
		if (!r)
			return false;
	}
	return true;
}

/*
 * Opens nothing more once it is false, so that another walk can open the files
 * one by one.
 */
static bool
keep_file(const struct userfile *file, void *arg)
{
	struct userfiles *files = arg;

	if (files->n_open == USERFILES_OPEN_MAX || file->error == EMFILE ||
	    file->error == ENFILE) {
		if (file->fd != -1)
			close(file->fd);
		return false;
	}
	files->open[files->n_open++] = *file;
	return true;
}

bool
userfiles_open(struct userfiles *files, const struct kv_account *account)
{
	struct walk w = {
		.files = files,
		.account = account,
		.found = keep_file,
		.arg = files,
	};

	if (walk_all(&w))
		return files->are_open = true;
	while (files->n_open > 0)
		if (files->open[--files->n_open].fd != -1)
			close(files->open[files->n_open].fd);
	return false;
}

/*
 * Called for each open file. Returns false to stop. *errorp is set to the errno
 * of a failed read. A failed read ends the file, as in sshd.
 */
typedef bool (*visit_fn)(int fd, void *arg, int *errorp);

struct reading {
	visit_fn visit;
	void *arg;
	userfiles_refused refused; /* may be NULL */
	void *refused_arg;
	bool incomplete; /* something could not be read */
};

static void
refuse_file(struct reading *r, const char *why, bool incomplete)
{
	if (r->refused != NULL)
		r->refused(why, r->refused_arg);
	r->incomplete |= incomplete;
}

static bool
read_file(const struct userfile *file, struct reading *r)
{
	char why[KV_USERFILE_WHY_BYTES];
	int saved, error = 0;
	bool go_on;

	if (file->fd == -1) {
		/* A file that sshd refuses for its modes has no key. */
		refuse_file(r, file->text,
		    file->error != 0 && file->error != ENOTDIR);
		return true;
	}
	go_on = r->visit(file->fd, r->arg, &error);
	saved = errno;
	if (error != 0) {
		snprintf(why, sizeof(why),
		    "%.300s: cannot be read to its end: %.100s", file->text,
		    strerror(error));
		refuse_file(r, why, true);
	}
	errno = saved;
	return go_on;
}

static bool
read_and_close(const struct userfile *file, void *arg)
{
	const bool go_on = read_file(file, arg);
	const int saved = errno;

	if (file->fd != -1)
		close(file->fd);
	errno = saved;
	return go_on;
}

static bool
read_all(const struct userfiles *files, const struct kv_account *account,
    struct reading *r)
{
	struct walk w = {
		.files = files,
		.account = account,
		.found = read_and_close,
		.arg = r,
	};

	if (!files->are_open)
		return walk_all(&w);
	for (size_t i = 0; i < files->n_open; i++) {
		const struct userfile *file = &files->open[i];

		/* The search for a key may have read a part of it. */
		if (file->fd != -1 && lseek(file->fd, 0, SEEK_SET) == -1)
			return false;
		if (!read_file(file, r))
			return false;
	}
	return true;
}

struct output {
	int fd;
	bool unfinished; /* the last file lacks a line end */
};

static bool
write_all(int fd, const char *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool
copy_file(int fd, void *arg, int *errorp)
{
	static char buf[COPY_BYTES];
	struct output *out = arg;
	bool empty = true;

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			*errorp = errno;
		if (n <= 0)
			break;
		if (empty && out->unfinished && !write_all(out->fd, "\n", 1))
			return false;
		if (!write_all(out->fd, buf, (size_t)n))
			return false;
		empty = false;
		out->unfinished = buf[n - 1] != '\n';
	}
	return true;
}

void
userfiles_of_config(const struct kv_config *config, struct userfiles *files)
{
	files->pattern = config->pattern;
	files->n = config->n_patterns;
	files->expanded = false;
	files->strictmodes = config->strictmodes;
	files->wildcards = config->wildcards;
	files->are_open = false;
	files->n_open = 0;
}

bool
userfiles_print(const struct userfiles *files, const struct kv_account *account,
    int out, userfiles_refused refused, void *arg)
{
	struct output o = { .fd = out };
	struct reading r = {
		.visit = copy_file,
		.arg = &o,
		.refused = refused,
		.refused_arg = arg,
	};

	return read_all(files, account, &r);
}

struct search {
	const struct kv_sshkey *offered;
	bool found;
	bool unread; /* something could not be read */
};

static bool
line_lists(const struct kv_line *line, const struct kv_sshkey *offered)
{
	if (line->is_blank || line->key.is_cert)
		return false;
	/* Without a certificate there is no CA, and nothing equals that. */
	if (kv_line_has_option(line->options, "cert-authority"))
		return kv_pubkey_equal(&line->key.key, &offered->ca);
	return kv_pubkey_equal(&line->key.key, &offered->key);
}

/* Searches one file. Returns false, to stop the walk, once the key is found. */
static bool
search_file(int fd, void *arg, int *errorp)
{
	static uint8_t buf[LINE_BYTES], blob[KV_BLOB_MAX_BYTES];
	struct search *s = arg;
	struct kv_lines lines;
	off_t size;
	struct kv_line line;
	struct kv_span text;
	bool more = true;

	/* The log line is not worth the search of such a large file. */
	if ((size = lseek(fd, 0, SEEK_END)) == -1 || size > SEARCH_MAX_BYTES ||
	    lseek(fd, 0, SEEK_SET) == -1) {
		s->unread = true;
		return true;
	}
	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more && !s->found) {
		enum kv_err r = kv_lines_next(&lines, &text, &more);

		if (r == KV_ERR_LINE_TOO_LONG) {
			s->unread = true;
			continue;
		}
		if (r != KV_OK) {
			*errorp = errno;
			return true;
		}
		if (more &&
		    kv_line_parse(text, blob, sizeof(blob), &line) == KV_OK)
			s->found = line_lists(&line, s->offered);
	}
	return !s->found;
}

enum kv_authorized
userfiles_list_key(const struct userfiles *files,
    const struct kv_account *account, const struct kv_sshkey *offered)
{
	struct search s = { .offered = offered };
	struct reading r = { .visit = search_file, .arg = &s };

	/* It also stops where the key is found. */
	if (!read_all(files, account, &r) || r.incomplete)
		s.unread = true;
	if (s.found)
		return KV_AUTHORIZED_YES;
	return s.unread ? KV_AUTHORIZED_UNKNOWN : KV_AUTHORIZED_NO;
}
