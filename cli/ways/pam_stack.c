/* SPDX-License-Identifier: ISC */
#include "ways/pam_stack.h"

#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/room.h"
#include "host/system_file.h"
#include "kv_config.h"
#include "kv_lines.h"

#define DEPTH_MAX 16 /* Linux-PAM's limit on nested files */
#define LINE_BYTES PAM_STACK_LINE_BYTES
/* More than any service needs. Files that include others multiply lines. */
#define FILE_BYTES_MAX (1024 * 1024)
#define FILES_MAX 256
#define LINES_MAX 4096

#define BLANKS " \t"

struct reader {
	struct pam_stack *s;
	unsigned int files; /* opened so far */
	char *why;
	size_t cap;
};

/* A file that is being read, and the one that includes it. */
struct file {
	const struct file *parent;
	const char *path;
	const char *type; /* lines of other types are skipped; NULL: none */
	unsigned int depth;
	bool substack;	   /* included as a substack, or from one */
	unsigned int line; /* where the current line starts; 0: none yet */
	dev_t dev;
	ino_t ino;
};

static bool read_file(struct reader *r, const struct file *parent,
    const char *name, const char *type, bool substack);

/* Writes r->why, with the file and line of f if that is not NULL. False. */
__attribute__((format(printf, 3, 4))) static bool
set_reason(const struct reader *r, const struct file *f, const char *fmt, ...)
{
	char reason[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	if (f == NULL)
		snprintf(r->why, r->cap, "%s", reason);
	else if (f->line == 0)
		snprintf(r->why, r->cap, "%s: %s", f->path, reason);
	else
		snprintf(r->why, r->cap, "%s:%u: %s", f->path, f->line, reason);
	return false;
}

/*
 * Opens the file that PAM would read for a name, and sets path. -1 with errno;
 * then path is where the file should be.
 */
static int
open_named(const char *name, char path[static PATH_MAX])
{
	static const char *const dirs[] = { "/etc/pam.d/", "/usr/lib/pam.d/" };
	char other[PATH_MAX];
	int fd, saved;

	if (snprintf(path, PATH_MAX, "%s%s", *name == '/' ? "" : dirs[0],
		name) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((fd = system_file_open(path, O_RDONLY)) != -1 || *name == '/' ||
	    errno != ENOENT)
		return fd;
	saved = errno;
	snprintf(other, sizeof(other), "%s%.*s", dirs[1], NAME_MAX, name);
	if ((fd = system_file_open(other, O_RDONLY)) != -1)
		memcpy(path, other, sizeof(other));
	errno = saved;
	return fd;
}

/*
 * Copies the next word as PAM splits the line, and moves *sp behind it. A word
 * that starts with '[' ends with ']'; "\]" does not end it. False if there is
 * no word, or if the bracket is not closed.
 */
static bool
next_word(const char **sp, char word[static LINE_BYTES])
{
	const char *start = *sp + strspn(*sp, BLANKS), *end = start;

	if (*start == '[') {
		while (*end != '\0' && *end != ']')
			end += *end == '\\' && end[1] == ']' ? 2 : 1;
		if (*end == '\0')
			return false;
		end++;
	} else
		end += strcspn(end, BLANKS);
	memcpy(word, start, (size_t)(end - start));
	word[end - start] = '\0';
	*sp = end;
	return end > start;
}

static void
to_lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Whether s is one of n words, in any case. */
static bool
one_of(const char *s, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(s, words[i]) == 0)
			return true;
	return false;
}

static void
free_line(struct pam_line *l)
{
	free(l->file);
	free(l->type);
	free(l->control);
	free(l->module);
	free(l->args);
}

static bool
add_line(struct reader *r, const struct file *f, const struct pam_line *words)
{
	struct pam_line l = {
		.file = strdup(f->path),
		.line = f->line,
		.type = strdup(words->type),
		.optional = words->optional,
		.control = strdup(words->control),
		.module = strdup(words->module),
		.args = strdup(words->args),
		.depth = f->depth,
		.substack = f->substack,
	};

	if (r->s->n == LINES_MAX) {
		free_line(&l);
		return set_reason(r, f, "more than %d lines", LINES_MAX);
	}
	if (!room_for_one(&r->s->line, r->s->n, sizeof(l)) || l.file == NULL ||
	    l.type == NULL || l.control == NULL || l.module == NULL ||
	    l.args == NULL) {
		free_line(&l);
		return set_reason(r, f, "%s", strerror(ENOMEM));
	}
	r->s->line[r->s->n++] = l;
	return true;
}

/*
 * Parses a line: adds it to the stack, or reads the file that it includes.
 * False with a sentence in r->why.
 */
static bool
parse_line(struct reader *r, const struct file *f, const char *text)
{
	static const char *const types[] = {
		"auth",
		"account",
		"password",
		"session",
	};
	static const char *const includes[] = { "include", "substack" };
	static const char *const words[] = {
		"required",
		"requisite",
		"sufficient",
		"optional",
	};
	char type[LINE_BYTES], control[LINE_BYTES], module[LINE_BYTES];
	char args[LINE_BYTES];
	struct pam_line l = { .control = control, .module = module };
	size_t len;

	if (!next_word(&text, type))
		return set_reason(r, f, "a bracket that is not closed");
	/* Debian's @include reads the types that f itself is read for. */
	if (strcasecmp(type, "@include") == 0) {
		if (!next_word(&text, module))
			return set_reason(r, f, "@include names no file");
		return read_file(r, f, module, f->type, f->substack);
	}
	l.optional = *type == '-';
	l.type = type + l.optional;
	if (!one_of(l.type, types, 4))
		return set_reason(r, f, "unknown type %.300s", l.type);
	to_lower(l.type);
	if (f->type != NULL && strcmp(l.type, f->type) != 0)
		return true;
	if (!next_word(&text, control))
		return set_reason(r, f,
		    "no control flag, or a bracket that is not closed");
	if (!next_word(&text, module))
		return set_reason(r, f,
		    "no module, or a bracket that is not closed");
	if (one_of(control, includes, 2))
		return read_file(r, f, module, l.type,
		    f->substack || strcasecmp(control, "substack") == 0);
	if (*control != '[') {
		if (!one_of(control, words, 4))
			return set_reason(r, f, "unknown control flag %.300s",
			    control);
		to_lower(control);
	}
	text += strspn(text, BLANKS);
	for (len = strlen(text); len > 0 && is_blank(text[len - 1]); len--)
		;
	memcpy(args, text, len);
	args[len] = '\0';
	l.args = args;
	return add_line(r, f, &l);
}

/* Lines of a file that are joined by a backslash. */
struct joined {
	char text[LINE_BYTES];
	size_t len;
	bool open; /* the last line had a backslash at its end */
};

/*
 * Appends a line of the file to j. Refuses a backslash before a blank line or a
 * comment: Linux-PAM 1.5 skips that line, 1.7 ends the joined line there.
 */
static bool
join_line(const struct reader *r, const struct file *f, struct joined *j,
    struct kv_span line)
{
	const char *p = (const char *)line.p, *hash;
	size_t len = line.len;

	if (len > 0 && memchr(p, '\0', len) != NULL)
		return set_reason(r, f, "a NUL byte");
	/* At the start of a line, and nowhere else, PAM skips CR, VT and FF. */
	while (len > 0 && isspace((unsigned char)*p)) {
		p++;
		len--;
	}
	if (len == 0 || *p == '#')
		return !j->open ||
		    set_reason(r, f,
			"goes on with a blank line or a "
			"comment, which versions of PAM read differently");
	j->open = false;
	if ((hash = memchr(p, '#', len)) != NULL)
		len = (size_t)(hash - p);
	else {
		while (len > 0 && is_blank(p[len - 1]))
			len--;
		if (p[len - 1] == '\\') {
			j->open = true;
			len--;
		}
	}
	if (len + 2 > sizeof(j->text) - j->len)
		return set_reason(r, f, "longer than %d bytes", LINE_BYTES - 2);
	memcpy(j->text + j->len, p, len);
	j->len += len;
	j->text[j->len++] = ' ';
	j->text[j->len] = '\0';
	return true;
}

static bool
read_lines(struct reader *r, struct file *f, int fd)
{
	uint8_t buf[LINE_BYTES];
	struct kv_lines lines;
	struct joined j = { .len = 0 };
	struct kv_span line;
	enum kv_err err;
	bool more;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while ((err = kv_lines_next(&lines, &line, &more)) == KV_OK && more) {
		if (j.len == 0)
			f->line = (unsigned int)lines.number;
		if (!join_line(r, f, &j, line))
			return false;
		if (j.len == 0 || j.open)
			continue;
		if (!parse_line(r, f, j.text))
			return false;
		j.len = 0;
	}
	if (err != KV_OK) {
		f->line = (unsigned int)lines.number;
		return set_reason(r, f, "%s",
		    err == KV_ERR_SYSTEM ? strerror(errno) : kv_strerror(err));
	}
	if (j.open)
		return set_reason(r, f, "the file ends where the line goes on");
	return true;
}

/* Reads a file and those that it includes. parent is NULL for the first. */
static bool
read_file(struct reader *r, const struct file *parent, const char *name,
    const char *type, bool substack)
{
	char path[PATH_MAX];
	struct file f = {
		.parent = parent,
		.path = path,
		.type = type,
		.depth = parent != NULL ? parent->depth + 1 : 0,
		.substack = substack,
	};
	struct stat st;
	int fd, error;
	bool ok;

	if (f.depth == DEPTH_MAX)
		return set_reason(r, parent, "more than %d files deep",
		    DEPTH_MAX);
	if (r->files++ == FILES_MAX)
		return set_reason(r, parent, "more than %d files", FILES_MAX);
	if ((fd = open_named(name, path)) == -1) {
		error = errno;
		if (system_file_is_masked(path))
			return true;
		errno = error;
		/* Name the line that includes the file. */
		if (parent != NULL)
			return set_reason(r, parent, "%.300s: %s", path,
			    strerror(errno));
		return set_reason(r, &f, "%s", strerror(errno));
	}
	if (fstat(fd, &st) == -1)
		ok = set_reason(r, &f, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		ok = system_file_is_masked(path) ||
		    set_reason(r, &f, "not a regular file");
	else if (st.st_size > FILE_BYTES_MAX)
		ok = set_reason(r, &f, "larger than %d bytes", FILE_BYTES_MAX);
	else {
		f.dev = st.st_dev;
		f.ino = st.st_ino;
		while (parent != NULL &&
		    (parent->dev != f.dev || parent->ino != f.ino))
			parent = parent->parent;
		ok = parent == NULL ?
		    read_lines(r, &f, fd) :
		    set_reason(r, f.parent, "%.400s includes itself", path);
	}
	close(fd);
	return ok;
}

bool
pam_stack_read(const char *service, struct pam_stack *s, char *why, size_t cap)
{
	struct reader r = { .s = s, .why = why, .cap = cap };
	char name[NAME_MAX + 1];

	*s = (struct pam_stack){ 0 };
	if (*service == '\0' || strlen(service) > NAME_MAX ||
	    strchr(service, '/') != NULL || strcmp(service, ".") == 0 ||
	    strcmp(service, "..") == 0)
		return set_reason(&r, NULL,
		    "%.300s: not the name of a PAM service", service);
	memcpy(name, service, strlen(service) + 1);
	/* As pam_start(3) does. */
	to_lower(name);
	return read_file(&r, NULL, name, NULL, false);
}

void
pam_stack_free(struct pam_stack *s)
{
	for (size_t i = 0; i < s->n; i++)
		free_line(&s->line[i]);
	free(s->line);
	*s = (struct pam_stack){ 0 };
}

void
pam_stack_config(const struct pam_line *l, char *path, size_t cap)
{
	static const char option[] = "config=/";
	const char *rest = l->args;
	char word[LINE_BYTES], *argument;

	snprintf(path, cap, "%s", KV_CONFIG_PATH);
	while (*(rest += strspn(rest, BLANKS)) != '\0') {
		/* A bracket that is not closed goes on to the end. */
		if (!next_word(&rest, word)) {
			snprintf(word, sizeof(word), "%s]", rest);
			rest += strlen(rest);
		}
		argument = word;
		if (*word == '[') {
			argument++;
			word[strlen(word) - 1] = '\0';
		}
		if (strncmp(argument, option, sizeof(option) - 1) == 0)
			snprintf(path, cap, "%s",
			    argument + sizeof(option) - 2);
	}
}

const char *
pam_line_module(const struct pam_line *l)
{
	const char *slash = strrchr(l->module, '/');

	return slash != NULL ? slash + 1 : l->module;
}

const struct pam_line *
pam_stack_find(const struct pam_stack *s, const char *type, const char *module)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->line[i].type, type) == 0 &&
		    (module == NULL ||
			strcmp(pam_line_module(&s->line[i]), module) == 0))
			return &s->line[i];
	return NULL;
}
