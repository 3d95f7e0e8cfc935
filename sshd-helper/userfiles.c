/* SPDX-License-Identifier: ISC */
#include "userfiles.h"

#include <sys/stat.h>

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
 * Called for each open file. Returns false to stop the walk. *errorp is set to
 * the errno of a failed read. A failed read ends the file, as in sshd.
 */
typedef bool (*visit_fn)(int fd, void *arg, int *errorp);

struct walk {
	const struct userfiles *files;
	const struct kv_account *account;
	userfiles_refused refused;
	void *refused_arg;
	visit_fn visit;
	void *visit_arg;
	bool *incompletep; /* set if something could not be read */
};

/* Reports that a file or folder could not be read, or not to its end. */
static void
report_error(const struct walk *w, const char *path, const char *what,
    int error)
{
	char why[KV_USERFILE_WHY_BYTES];

	snprintf(why, sizeof(why), "%.300s: %s%.100s", path, what,
	    strerror(error));
	if (w->refused != NULL)
		w->refused(why, w->refused_arg);
	if (w->incompletep != NULL)
		*w->incompletep = true;
}

static bool
walk_file(const char *path, void *arg)
{
	const struct walk *w = arg;
	char why[KV_USERFILE_WHY_BYTES];
	enum kv_err err;
	int fd, saved, error = 0;
	bool go_on;

	err = kv_userfile_open(path, w->account, w->files->strictmodes, &fd,
	    why);
	if (err != KV_OK) {
		if (err == KV_ERR_SYSTEM && errno == ENOENT)
			return true;
		/*
		 * sshd reads no key from a file that it refuses for its modes.
		 */
		if (err == KV_ERR_SYSTEM && errno != ENOTDIR &&
		    w->incompletep != NULL)
			*w->incompletep = true;
		if (w->refused != NULL)
			w->refused(why, w->refused_arg);
		return true;
	}
	go_on = w->visit(fd, w->visit_arg, &error);
	saved = errno;
	close(fd);
	if (error != 0)
		report_error(w, path, "cannot be read to its end: ", error);
	errno = saved;
	return go_on;
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
	if (error != 0)
		report_error(w, pattern, "cannot be searched: ", error);
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
			if (w->refused != NULL)
				w->refused("path of authorized keys file is "
					   "too long",
				    w->refused_arg);
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
	*files = (struct userfiles){
		.pattern = config->pattern,
		.n = config->n_patterns,
		.strictmodes = config->strictmodes,
		.wildcards = config->wildcards,
	};
}

bool
userfiles_print(const struct userfiles *files, const struct kv_account *account,
    int out, userfiles_refused refused, void *arg)
{
	struct output o = { .fd = out };
	struct walk w = {
		.files = files,
		.account = account,
		.refused = refused,
		.refused_arg = arg,
		.visit = copy_file,
		.visit_arg = &o,
	};

	return walk_all(&w);
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
	struct stat st;
	struct kv_line line;
	struct kv_span text;
	bool more = true;

	/* The log line is not worth the search of such a large file. */
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
	struct walk w = {
		.files = files,
		.account = account,
		.visit = search_file,
		.visit_arg = &s,
		.incompletep = &s.unread,
	};

	/* It also stops where the key is found. */
	if (!walk_all(&w))
		s.unread = true;
	if (s.found)
		return KV_AUTHORIZED_YES;
	return s.unread ? KV_AUTHORIZED_UNKNOWN : KV_AUTHORIZED_NO;
}
