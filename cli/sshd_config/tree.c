/* SPDX-License-Identifier: ISC */
#include "sshd_config/tree.h"

#include <sys/wait.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "host/program.h"
#include "host/root_file.h"
#include "sshd_config/words.h"

#define DEPTH_MAX 16	/* sshd's own: servconf.h */
#define FILES_MAX 1024
#define LINES_MAX 100000

struct reader {
	struct sshd_tree *t;
	const char *root;
	const struct sshd_change *change;
	size_t n_changes;
	size_t outer;		/* Match block that includes the file */
	size_t match;		/* that of the lines now read */
	char *why;
	size_t cap;
};

static bool read_file(struct reader *r, const char *path, unsigned int depth);

__attribute__((format(printf, 2, 3))) static bool
fail(const struct reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, r->cap, fmt, ap);
	va_end(ap);
	return false;
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

struct names {
	char **v;
	size_t n;
};

static bool
add_name(struct names *names, const char *name)
{
	char **v = realloc(names->v, (names->n + 1) * sizeof(*v));

	if (v == NULL)
		return false;
	names->v = v;
	if ((v[names->n] = strdup(name)) == NULL)
		return false;
	names->n++;
	return true;
}

static void
free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

/* The files that a pattern stands for, with the changes, in sshd's order. */
static bool
find_included(const struct reader *r, const char *pattern, struct names *names)
{
	bool ok = true;
	glob_t found;
	int error;

	error = root_glob(r->root, pattern, &found);
	if (error != 0 && error != GLOB_NOMATCH)
		return fail(r, "%.300s: cannot look for such files", pattern);
	for (size_t i = 0; error == 0 && ok && i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];

		if (find_change(r, path) == NULL)
			ok = add_name(names, path);
	}
	if (error == 0)
		globfree(&found);
	for (size_t i = 0; ok && i < r->n_changes; i++) {
		const struct sshd_change *c = &r->change[i];

		if (c->text != NULL && fnmatch(pattern, c->path,
		    FNM_PATHNAME | FNM_PERIOD) == 0)
			ok = add_name(names, c->path);
	}
	if (!ok)
		return fail(r, "%s", strerror(errno));
	if (names->n > 1)
		qsort(names->v, names->n, sizeof(*names->v), compare_names);
	return true;
}

/* Writes the Include line of the copy, and reads what it stands for. */
static bool
take_include(struct reader *r, FILE *out, const struct sshd_line *l,
    unsigned int depth)
{
	char pattern[PATH_MAX], *rest = strdup(l->value), *s = rest, *word;
	bool ok = rest != NULL, any = false;

	while (ok && (word = sshd_words_next(&s)) != NULL) {
		struct names names = { 0 };

		/* Those sshd looks for where it happens to be started. */
		ok = (*word != '~' || fail(r, "%s%s:%zu: Include %.300s: not "
		    "an absolute path", r->root, r->t->file[l->file],
		    l->number, word)) &&
		    snprintf(pattern, sizeof(pattern), "%s%s",
		    *word == '/' ? "" : "/etc/ssh/", word) <
		    (int)sizeof(pattern) && find_included(r, pattern, &names);
		for (size_t i = 0; ok && i < names.n; i++) {
			if (!any)
				fputs("Include", out);
			any = true;
			fprintf(out, " %s/%zu.conf", r->t->copy,
			    r->t->n_files);
			ok = read_file(r, names.v[i], depth + 1);
		}
		free_names(&names);
	}
	putc('\n', out);
	free(rest);
	return ok;
}

/* False without memory. */
static bool
add_line(struct sshd_tree *t, const struct sshd_line *l)
{
	struct sshd_line *grown;

	if ((t->n_lines & (t->n_lines + 1)) == 0) {
		grown = realloc(t->line,
		    (2 * t->n_lines + 2) * sizeof(*grown));
		if (grown == NULL)
			return false;
		t->line = grown;
	}
	t->line[t->n_lines++] = *l;
	return true;
}

/* Takes keyword and value apart: NULL in a line that says nothing. */
static bool
parse_line(const char *text, size_t len, struct sshd_line *l)
{
	char *copy = strndup(text, len), *value;
	const char *keyword;
	bool ok = copy != NULL;

	keyword = ok ? sshd_words_keyword(copy, &value) : NULL;
	if (keyword != NULL) {
		l->keyword = strdup(keyword);
		l->value = strdup(value);
		ok = l->keyword != NULL && l->value != NULL;
	}
	if (!ok) {
		free(l->keyword);
		free(l->value);
	}
	free(copy);
	return ok;
}

/* A line with a keyword, which becomes the tree's. */
static bool
take_line(struct reader *r, FILE *out, struct sshd_line *l, const char *text,
    size_t len, unsigned int depth)
{
	struct sshd_tree *t = r->t;
	const bool match = strcasecmp(l->keyword, "Match") == 0;

	l->match = match ? r->outer : r->match;
	if (t->n_lines == LINES_MAX || !add_line(t, l)) {
		free(l->keyword);
		free(l->value);
		return fail(r, "%s: too many lines", t->file[l->file]);
	}
	if (strcasecmp(l->keyword, "Include") == 0)
		return take_include(r, out, l, depth);
	if (match)
		r->match = t->n_lines;
	fwrite(text, 1, len, out);
	return true;
}

static bool
read_text(struct reader *r, FILE *out, size_t file, const char *text,
    size_t len, unsigned int depth)
{
	const char *end = text + len;
	size_t number = 0, n;

	for (; text < end; text += n) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		struct sshd_line l = { .file = file };

		l.number = ++number;
		n = (size_t)((nl != NULL ? nl + 1 : end) - text);
		if (!parse_line(text, n, &l))
			return fail(r, "%s", strerror(errno));
		if (l.keyword == NULL)
			fwrite(text, 1, n, out);
		else if (!take_line(r, out, &l, text, n, depth))
			return false;
	}
	return true;
}

static bool
copy_text(struct reader *r, size_t file, const char *text, size_t len,
    unsigned int depth)
{
	const size_t outer = r->outer, match = r->match;
	char path[PATH_MAX];
	bool ok, whole;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%zu.conf", r->t->copy, file);
	if ((out = fopen(path, "wxe")) == NULL)
		return fail(r, "%s: %s", path, strerror(errno));
	r->outer = match;
	ok = read_text(r, out, file, text, len, depth);
	/* A Match block ends with its file. */
	r->outer = outer;
	r->match = match;
	whole = ferror(out) == 0;
	if (fclose(out) != 0 || !whole)
		return fail(r, "%s: cannot be written", path);
	return ok;
}

static bool
read_file(struct reader *r, const char *path, unsigned int depth)
{
	struct sshd_tree *t = r->t;
	const struct sshd_change *c = find_change(r, path);
	const size_t file = t->n_files;
	char **grown, *text;
	size_t len;
	bool ok;

	if (depth == DEPTH_MAX || file == FILES_MAX)
		return fail(r, "%s%s: Include goes too deep", r->root, path);
	if ((grown = realloc(t->file, (file + 1) * sizeof(*grown))) == NULL)
		return fail(r, "%s", strerror(errno));
	t->file = grown;
	if ((t->file[file] = strdup(path)) == NULL)
		return fail(r, "%s", strerror(errno));
	t->n_files++;
	if (c != NULL && c->text != NULL)
		return copy_text(r, file, c->text, c->len, depth);
	if (c != NULL)
		errno = ENOENT;
	if (c != NULL || (text = root_read(r->root, path, &len)) == NULL)
		return fail(r, "%s%s: %s", r->root, path, errno == EINVAL ?
		    "not a regular file" : strerror(errno));
	ok = copy_text(r, file, text, len, depth);
	free(text);
	return ok;
}

/* Removes a directory of files. */
static void
remove_copy(const char *path)
{
	const struct dirent *e;
	DIR *dir = opendir(path);

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	(void)rmdir(path);
}

/* Waits until nobody holds the other end any more: closed, or dead. */
static void
be_remover(const char *path, int fd)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	char byte;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	/* The caller's output is not to be held open by us. */
	if (dup2(fd, STDIN_FILENO) == -1 || close_range(1, ~0U, 0) == -1)
		_exit(1);
	while (read(STDIN_FILENO, &byte, 1) == -1 && errno == EINTR)
		;
	remove_copy(path);
	_exit(0);
}

/*
 * Makes the directory of the copy, and a process that removes it when we close
 * our end of a pipe, however we end. False with errno.
 */
static bool
make_copy_dir(struct sshd_tree *t)
{
	char name[] = "/tmp/keyveto-sshd.XXXXXX";
	int ends[2], saved;

	if (pipe2(ends, O_CLOEXEC) == -1)
		return false;
	if (mkdtemp(name) != NULL && (t->copy = strdup(name)) != NULL) {
		if ((t->remover = fork()) == 0)
			be_remover(name, ends[0]);
		if (t->remover > 0) {
			close(ends[0]);
			t->alive = ends[1];
			return true;
		}
	}
	saved = errno;
	(void)rmdir(name);
	t->remover = 0;
	close(ends[0]);
	close(ends[1]);
	errno = saved;
	return false;
}

bool
sshd_tree_open(struct sshd_tree *t, const char *root, const char *top,
    const struct sshd_change *change, size_t n, char *why, size_t cap)
{
	struct reader r = {
		.t = t, .root = root, .change = change, .n_changes = n,
		.why = why, .cap = cap,
	};

	*t = (struct sshd_tree){ 0 };
	(void)fail(&r, "an Include line is too long, or no memory is left");
	if (!make_copy_dir(t))
		return fail(&r, "/tmp: no directory for a copy: %s",
		    strerror(errno));
	if (asprintf(&t->top, "%s/0.conf", t->copy) == -1) {
		t->top = NULL;
		return fail(&r, "out of memory");
	}
	return read_file(&r, top, 0);
}

void
sshd_tree_close(struct sshd_tree *t)
{
	if (t->remover > 0) {
		close(t->alive);
		while (waitpid(t->remover, NULL, 0) == -1 && errno == EINTR)
			;
	}
	for (size_t i = 0; i < t->n_files; i++)
		free(t->file[i]);
	for (size_t i = 0; i < t->n_lines; i++) {
		free(t->line[i].keyword);
		free(t->line[i].value);
	}
	free(t->file);
	free(t->line);
	free(t->copy);
	free(t->top);
	free(t->host_key);
	*t = (struct sshd_tree){ 0 };
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
		    strcmp(a->file[l->file], b->file[m->file]) != 0)
			return false;
	}
	return true;
}

bool
sshd_tree_make_host_key(struct sshd_tree *t, char *why, size_t cap)
{
	char path[PATH_MAX];
	const char *const argv[] = { "/usr/bin/ssh-keygen", "-q", "-t",
		"ed25519", "-N", "", "-f", path, NULL };
	struct program keygen = { .argv = argv };
	int error, status;

	if (t->host_key != NULL)
		return true;
	snprintf(path, sizeof(path), "%s/host_key", t->copy);
	if ((t->host_key = strdup(path)) == NULL) {
		snprintf(why, cap, "out of memory");
		return false;
	}
	program_fds(&keygen, PROGRAM_NULL, STDOUT_FILENO, STDERR_FILENO);
	error = program_run(&keygen, &status);
	if (error == 0 && status == 0)
		return true;
	snprintf(why, cap, "ssh-keygen makes no host key, which sshd wants to "
	    "see: %s", error != 0 ? strerror(error) : "it failed");
	return false;
}

void
sshd_tree_rename(const struct sshd_tree *t, char *text, size_t cap)
{
	const size_t len = strlen(t->copy);
	char *out = malloc(cap), *p = text;
	size_t n = 0;

	if (out == NULL)
		return;
	while (*p != '\0' && n + 1 < cap) {
		unsigned long i;
		char *end;

		if (strncmp(p, t->copy, len) == 0 && p[len] == '/' &&
		    isdigit((unsigned char)p[len + 1]) &&
		    (i = strtoul(p + len + 1, &end, 10)) < t->n_files &&
		    strncmp(end, ".conf", 5) == 0) {
			n += (size_t)snprintf(out + n, cap - n, "%s",
			    t->file[i]);
			if (n >= cap)
				n = cap - 1;
			p = end + 5;
		} else
			out[n++] = *p++;
	}
	out[n] = '\0';
	memcpy(text, out, n + 1);
	free(out);
}
