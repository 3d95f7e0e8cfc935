/* SPDX-License-Identifier: ISC */
#include "userfiles.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kv_line.h"
#include "kv_lines.h"

#define SEARCH_MAX_BYTES (64 * 1024 * 1024)
#define COPY_BYTES (64 * 1024)
/* Memory that is touched only as far as a file fills it. */
#define LINE_BYTES (2 * 1024 * 1024)

/* What is done with each open file; false stops the walk. */
typedef bool (*visit_fn)(int fd, void *arg);

struct walk {
	const struct kv_config *config;
	const struct kv_account *account;
	userfiles_refused refused;
	void *refused_arg;
	visit_fn visit;
	void *visit_arg;
};

static bool
walk_file(const struct walk *w, const char *path)
{
	char why[KV_USERFILE_WHY_BYTES];
	enum kv_err err;
	bool go_on;
	int fd;

	err = kv_userfile_open(path, w->account, w->config->strictmodes, &fd,
	    why);
	if (err != KV_OK) {
		bool missing = err == KV_ERR_SYSTEM && errno == ENOENT;

		if (!missing && w->refused != NULL)
			w->refused(why, w->refused_arg);
		return true;
	}
	go_on = w->visit(fd, w->visit_arg);
	close(fd);
	return go_on;
}

/*
 * glob(3) passes over what it cannot read without a word. These are its own
 * calls, which keep the reason: 0, or an errno.
 */
static int glob_errno;

static void
note_glob_error(void)
{
	if (errno != 0 && errno != ENOENT && errno != ENOTDIR)
		glob_errno = errno;
}

static void *
glob_opendir(const char *path)
{
	DIR *dir = opendir(path);

	if (dir == NULL)
		note_glob_error();
	return dir;
}

static struct dirent *
glob_readdir(void *dir)
{
	struct dirent *entry;

	errno = 0;
	if ((entry = readdir(dir)) == NULL)
		note_glob_error();
	return entry;
}

static void
glob_closedir(void *dir)
{
	closedir(dir);
}

static int
glob_stat(const char *path, struct stat *st)
{
	int r = stat(path, st);

	if (r == -1)
		note_glob_error();
	return r;
}

static int
glob_lstat(const char *path, struct stat *st)
{
	int r = lstat(path, st);

	if (r == -1)
		note_glob_error();
	return r;
}

/* The newest sshd takes a pattern with wildcards for all files it matches. */
static bool
walk_glob(const struct walk *w, const char *pattern)
{
	glob_t found = {
		.gl_opendir = glob_opendir, .gl_readdir = glob_readdir,
		.gl_closedir = glob_closedir, .gl_stat = glob_stat,
		.gl_lstat = glob_lstat,
	};
	char why[KV_USERFILE_WHY_BYTES];
	bool r = true;
	int error;

	glob_errno = 0;
	error = glob(pattern, GLOB_NOCHECK | GLOB_ALTDIRFUNC, NULL, &found);
	if (error != 0) {
		errno = error == GLOB_NOSPACE ? ENOMEM : EIO;
		return false;
	}
	if (glob_errno != 0 && w->refused != NULL) {
		snprintf(why, sizeof(why), "%.256s: cannot be searched: %.100s",
		    pattern, strerror(glob_errno));
		w->refused(why, w->refused_arg);
	}
	for (size_t i = 0; r && i < found.gl_pathc; i++)
		r = walk_file(w, found.gl_pathv[i]);
	globfree(&found);
	return r;
}

static bool
walk_all(const struct walk *w)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < w->config->n_patterns; i++) {
		const char *pattern = w->config->pattern[i];
		bool r;

		if (kv_userfile_expand(pattern, w->account, path,
		    sizeof(path)) != KV_OK) {
			if (w->refused != NULL)
				w->refused("path of authorized keys file is "
				    "too long", w->refused_arg);
			continue;
		}
		/* A name alone must not turn a plain path into a pattern. */
		if (strpbrk(pattern, "*?[") != NULL)
			r = walk_glob(w, path);
		else
			r = walk_file(w, path);
		if (!r)
			return false;
	}
	return true;
}

struct output {
	int fd;
	bool unfinished;	/* the last file did not end with a line end */
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
copy_file(int fd, void *arg)
{
	static char buf[COPY_BYTES];
	struct output *out = arg;
	bool empty = true;
	char last = '\n';

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		if (n == 0)
			break;
		if (empty && out->unfinished && !write_all(out->fd, "\n", 1))
			return false;
		if (!write_all(out->fd, buf, (size_t)n))
			return false;
		empty = false;
		last = buf[n - 1];
	}
	if (!empty)
		out->unfinished = last != '\n';
	return true;
}

bool
userfiles_print(const struct kv_config *config,
    const struct kv_account *account, int out, userfiles_refused refused,
    void *arg)
{
	struct output o = { .fd = out };
	const struct walk w = {
		.config = config, .account = account,
		.refused = refused, .refused_arg = arg,
		.visit = copy_file, .visit_arg = &o,
	};

	return walk_all(&w);
}

struct search {
	const struct kv_sshkey *offered;
	bool found;
	bool unread;		/* there was a line too long to be read */
};

static bool
line_lists(const struct kv_line *line, const struct kv_sshkey *offered)
{
	if (line->is_blank || line->key.is_cert)
		return false;
	if (kv_line_has_option(line->options, "cert-authority"))
		return offered->is_cert &&
		    kv_pubkey_equal(&line->key.key, &offered->ca);
	return kv_pubkey_equal(&line->key.key, &offered->key);
}

/* Stops the walk, by returning false, once the key is found. */
static bool
search_file(int fd, void *arg)
{
	static uint8_t buf[LINE_BYTES], blob[KV_BLOB_MAX_BYTES];
	struct search *s = arg;
	struct kv_lines lines;
	struct stat st;
	struct kv_line line;
	struct kv_span text;
	bool more = true;

	/* What a file as large holds is not worth the wait for the log line. */
	if (fstat(fd, &st) == -1 || st.st_size > SEARCH_MAX_BYTES) {
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
		if (r != KV_OK)
			return true;
		if (more && kv_line_parse(text, blob, sizeof(blob),
		    &line) == KV_OK)
			s->found = line_lists(&line, s->offered);
	}
	return !s->found;
}

enum kv_authorized
userfiles_list_key(const struct kv_config *config,
    const struct kv_account *account, const struct kv_sshkey *offered)
{
	struct search s = { .offered = offered };
	const struct walk w = {
		.config = config, .account = account,
		.visit = search_file, .visit_arg = &s,
	};

	(void)walk_all(&w);
	if (s.found)
		return KV_AUTHORIZED_YES;
	return s.unread ? KV_AUTHORIZED_UNKNOWN : KV_AUTHORIZED_NO;
}
