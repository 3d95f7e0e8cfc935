/* SPDX-License-Identifier: ISC */
#include "sshd_config/tree.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/room.h"
#include "host/system_file.h"
#include "sshd_config/match.h"
#include "sshd_config/words.h"

#define DEPTH_MAX 16 /* sshd's own limit: servconf.h */
#define FILES_MAX 1024
#define LINES_MAX 100000

struct reader {
	struct sshd_tree *t;
	const struct sshd_change *change;
	size_t n_changes;
	bool complete; /* leave_out was not called */
	char *why;
	size_t cap;
};

static void read_file(struct reader *r, const char *path, size_t include,
    size_t match, unsigned int depth);

/* Notes that something cannot be read. Writes r->why for the first one. */
__attribute__((format(printf, 2, 3))) static void
leave_out(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	if (!r->complete)
		return;
	r->complete = false;
	va_start(ap, fmt);
	vsnprintf(r->why, r->cap, fmt, ap);
	va_end(ap);
}

static const struct sshd_change *
find_change(const struct reader *r, const char *path)
{
	for (size_t i = 0; i < r->n_changes; i++)
		if (strcmp(r->change[i].path, path) == 0)
			return &r->change[i];
	return NULL;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Reads the files that match a pattern of an Include line, in sshd's order. A
 * change may add a file or remove one.
 */
static void
read_pattern(struct reader *r, const char *pattern, size_t include,
    size_t match, unsigned int depth)
{
	glob_t found;
	const int error = glob(pattern, 0, NULL, &found);
	const size_t n_found = error == 0 ? found.gl_pathc : 0;
	const char **name = calloc(n_found + r->n_changes + 1, sizeof(*name));
	size_t n = 0;

	if (error != 0 && error != GLOB_NOMATCH)
		leave_out(r, "%.300s: cannot look for such files", pattern);
	else if (name == NULL)
		leave_out(r, "%s", strerror(errno));
	for (size_t i = 0; name != NULL && i < n_found; i++)
		if (find_change(r, found.gl_pathv[i]) == NULL)
			name[n++] = found.gl_pathv[i];
	for (size_t i = 0; name != NULL && i < r->n_changes; i++) {
		const struct sshd_change *c = &r->change[i];

		if (c->text != NULL &&
		    fnmatch(pattern, c->path, FNM_PATHNAME | FNM_PERIOD) == 0)
			name[n++] = c->path;
	}
	if (n > 1)
		qsort(name, n, sizeof(*name), compare_names);
	for (size_t i = 0; i < n; i++)
		read_file(r, name[i], include, match, depth);
	free(name);
	if (error == 0)
		globfree(&found);
}

/* Reads the files of the Include line that is the last line of the tree. */
static void
read_include(struct reader *r, unsigned int depth)
{
	const struct sshd_line l = r->t->line[r->t->n_lines - 1];
	const size_t include = r->t->n_lines;
	char *copy = strdup(l.value), *rest = copy, pattern[PATH_MAX];
	const char *word;

	if (copy == NULL)
		leave_out(r, "%s", strerror(errno));
	while (copy != NULL && (word = sshd_words_next(&rest)) != NULL) {
		/* sshd looks for such a file in its working directory. */
		if (*word == '~')
			leave_out(r,
			    "%s:%zu: Include %.300s: not an absolute path",
			    r->t->file[l.file].path, l.number, word);
		else if (snprintf(pattern, sizeof(pattern), "%s%s",
			     *word == '/' ? "" : "/etc/ssh/", word) >=
		    (int)sizeof(pattern))
			leave_out(r, "an Include line is too long");
		else
			read_pattern(r, pattern, include, l.match, depth);
	}
	free(copy);
}

/* Reads the lines of a file. outer is the Match block that includes it. */
static void
read_lines(struct reader *r, size_t file, size_t outer, unsigned int depth)
{
	struct sshd_tree *t = r->t;
	/* read_include may move the array of files, but not their strings. */
	const char *path = t->file[file].path, *text = t->file[file].text;
	const size_t len = t->file[file].len;
	size_t match = outer;
	struct sshd_line l = { .file = file };

	for (; l.at < len; l.at += l.len) {
		const char *nl = memchr(text + l.at, '\n', len - l.at);
		bool is_match;

		l.number++;
		l.len = nl != NULL ? (size_t)(nl - text) + 1 - l.at :
				     len - l.at;
		if ((l.memory = strndup(text + l.at, l.len)) == NULL) {
			leave_out(r, "%s", strerror(ENOMEM));
			return;
		}
		l.keyword = sshd_words_keyword(l.memory, &l.value);
		is_match = l.keyword != NULL &&
		    strcasecmp(l.keyword, "Match") == 0;
		l.match = is_match ? outer : match;
		/* A blank line, or a comment. */
		if (l.keyword == NULL) {
			free(l.memory);
			continue;
		}
		if (t->n_lines == LINES_MAX ||
		    !room_for_one(&t->line, t->n_lines, sizeof(l))) {
			leave_out(r, "%s: too many lines", path);
			free(l.memory);
			return;
		}
		t->line[t->n_lines++] = l;
		if (is_match)
			match = t->n_lines;
		else if (strcasecmp(l.keyword, "Include") == 0)
			read_include(r, depth + 1);
	}
}

static void
read_file(struct reader *r, const char *path, size_t include, size_t match,
    unsigned int depth)
{
	const struct sshd_change *c = find_change(r, path);
	struct sshd_tree *t = r->t;
	struct sshd_config_file f = { .include = include };
	int error;

	if (depth == DEPTH_MAX || t->n_files == FILES_MAX) {
		leave_out(r, "%s: Include goes too deep", path);
		return;
	}
	errno = ENOENT;
	if (c == NULL)
		f.text = system_file_read(path, &f.len);
	else if (c->text != NULL && (f.text = malloc(c->len + 1)) != NULL) {
		f.len = c->len;
		memcpy(f.text, c->text, f.len);
		f.text[f.len] = '\0';
	}
	error = errno;
	if (c == NULL && f.text == NULL && system_file_is_masked(path))
		f.text = strdup("");
	if (f.text == NULL) {
		leave_out(r, "%s: %s", path,
		    error == EINVAL ? "not a regular file" : strerror(error));
		return;
	}
	f.path = strdup(path);
	if (f.path == NULL || !room_for_one(&t->file, t->n_files, sizeof(f))) {
		leave_out(r, "%s", strerror(ENOMEM));
		free(f.path);
		free(f.text);
		return;
	}
	t->file[t->n_files++] = f;
	read_lines(r, t->n_files - 1, match, depth);
}

bool
sshd_tree_read(struct sshd_tree *t, const char *top,
    const struct sshd_change *change, size_t n, char *why, size_t cap)
{
	struct reader r = {
		.t = t,
		.change = change,
		.n_changes = n,
		.complete = true,
		.why = why,
		.cap = cap,
	};

	*t = (struct sshd_tree){ 0 };
	read_file(&r, top, 0, 0, 0);
	return r.complete;
}

void
sshd_tree_free(struct sshd_tree *t)
{
	for (size_t i = 0; i < t->n_files; i++) {
		free(t->file[i].path);
		free(t->file[i].text);
	}
	for (size_t i = 0; i < t->n_lines; i++)
		free(t->line[i].memory);
	free(t->file);
	free(t->line);
	*t = (struct sshd_tree){ 0 };
}

const struct sshd_line *
sshd_tree_find(const struct sshd_tree *t, size_t match, const char *keyword)
{
	for (size_t i = 0; i < t->n_lines; i++)
		if (t->line[i].match == match &&
		    strcasecmp(t->line[i].keyword, keyword) == 0)
			return &t->line[i];
	return NULL;
}

bool
sshd_tree_equals(const struct sshd_tree *a, const struct sshd_tree *b)
{
	if (a->n_lines != b->n_lines)
		return false;
	for (size_t i = 0; i < a->n_lines; i++) {
		const struct sshd_line *l = &a->line[i], *m = &b->line[i];

		if (l->match != m->match || l->number != m->number ||
		    strcmp(l->keyword, m->keyword) != 0 ||
		    strcmp(l->value, m->value) != 0 ||
		    strcmp(a->file[l->file].path, b->file[m->file].path) != 0)
			return false;
	}
	return true;
}

bool
sshd_tree_is_by_origin(const struct sshd_tree *t, const struct sshd_line *l)
{
	bool origin = false;

	for (size_t match = l->match; match != 0 && !origin;
	     match = t->line[match - 1].match)
		origin = sshd_match_add(NULL, t->line[match - 1].value);
	return origin;
}
