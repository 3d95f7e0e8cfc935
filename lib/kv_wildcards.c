/* SPDX-License-Identifier: ISC */
#include "kv_wildcards.h"

#include <sys/stat.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * A pattern is compiled into tokens. Those below 0x100 are bytes. A set is SET
 * or NOT_SET, its members (RANGE and two bytes, or CLASS and a number) and
 * SET_END.
 */
enum {
	ANY = 0x100,
	STAR,
	SET,
	NOT_SET,
	RANGE,
	CLASS,
	SET_END,
	END,
};

/* A member of a set takes up to three tokens. */
#define TOKENS (3 * PATH_MAX + 4)

static const struct {
	const char *name;
	int (*has)(int);
} classes[] = {
	{ "alnum", isalnum },
	{ "alpha", isalpha },
	{ "blank", isblank },
	{ "cntrl", iscntrl },
	{ "digit", isdigit },
	{ "graph", isgraph },
	{ "lower", islower },
	{ "print", isprint },
	{ "punct", ispunct },
	{ "space", isspace },
	{ "upper", isupper },
	{ "xdigit", isxdigit },
};

/* A character of the pattern. plain: behind a backslash, so not special. */
struct character {
	uint8_t c;
	bool plain;
};

struct compiler {
	struct character in[PATH_MAX];
	size_t n, at;
	uint16_t out[TOKENS];
	size_t len;
	bool matches_nothing;
};

struct search {
	char path[PATH_MAX];
	char *found; /* n paths, each with a NUL, len bytes in all */
	size_t n, len, cap;
	int error;
};

/* Whether the character at position i is c with its special meaning. */
static bool
is_special(const struct compiler *k, size_t i, char c)
{
	return i < k->n && !k->in[i].plain && k->in[i].c == (uint8_t)c;
}

static void
put_token(struct compiler *k, uint16_t token)
{
	k->out[k->len++] = token;
}

static void
put_range(struct compiler *k, uint8_t low, uint8_t high)
{
	put_token(k, RANGE);
	put_token(k, low);
	put_token(k, high);
	/* sshd splits patterns at slashes first: it finds no set here. */
	if (low == '/' || high == '/')
		k->matches_nothing = true;
}

/* Whether there is a closing bracket after the set's first member. */
static bool
set_ends(const struct compiler *k, size_t first)
{
	for (size_t i = first + 1; i < k->n; i++) {
		if (is_special(k, i, ']'))
			return true;
	}
	return false;
}

/*
 * Reads [:name:] at position k->at. False if something else is there. The name
 * of no class makes the whole pattern match nothing.
 */
static bool
read_class(struct compiler *k)
{
	size_t start = k->at + 2, end = start;

	if (!is_special(k, k->at, '[') || !is_special(k, k->at + 1, ':'))
		return false;
	while (end < k->n && !is_special(k, end, ':'))
		end++;
	if (!is_special(k, end + 1, ']'))
		return false;
	k->at = end + 2;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		size_t j = start;

		while (j < end && !k->in[j].plain &&
		    k->in[j].c == (uint8_t)classes[i].name[j - start])
			j++;
		if (j == end && classes[i].name[j - start] == '\0') {
			put_token(k, CLASS);
			put_token(k, (uint16_t)i);
			return true;
		}
	}
	k->matches_nothing = true;
	return true;
}

/* Reads a set, from its bracket on. False if it is only a bracket. */
static bool
read_set(struct compiler *k)
{
	bool negated = is_special(k, k->at + 1, '!');
	size_t first = k->at + (negated ? 2 : 1);

	if (!set_ends(k, first))
		return false;
	put_token(k, negated ? NOT_SET : SET);
	k->at = first;
	/* The first member may be a closing bracket. */
	while (k->at == first || !is_special(k, k->at, ']')) {
		uint8_t low;

		if (k->at >= k->n) {
			/*
			 * The bracket that set_ends found belongs to a class.
			 */
			k->matches_nothing = true;
			break;
		}
		if (read_class(k))
			continue;
		low = k->in[k->at++].c;
		if (is_special(k, k->at, '-') && k->at + 1 < k->n &&
		    !is_special(k, k->at + 1, ']')) {
			put_range(k, low, k->in[k->at + 1].c);
			k->at += 2;
		} else
			put_range(k, low, low);
	}
	k->at++;
	put_token(k, SET_END);
	return true;
}

static void
compile_pattern(struct compiler *k, const char *pattern)
{
	for (const char *p = pattern; *p != '\0'; p++) {
		bool plain = p[0] == '\\';

		if (plain && p[1] != '\0')
			p++;
		k->in[k->n++] = (struct character){ (uint8_t)*p, plain };
	}
	while (k->at < k->n) {
		if (is_special(k, k->at, '[') && read_set(k))
			continue;
		if (is_special(k, k->at, '?'))
			put_token(k, ANY);
		else if (is_special(k, k->at, '*'))
			put_token(k, STAR);
		else
			put_token(k, k->in[k->at].c);
		k->at++;
	}
	put_token(k, END);
}

/* Whether the set at *pp has c. Moves *pp behind the set. */
static bool
set_has(const uint16_t **pp, uint8_t c)
{
	const uint16_t *p = *pp;
	bool negated = *p++ == NOT_SET, found = false;

	while (*p != SET_END) {
		if (*p == CLASS) {
			found = found || classes[p[1]].has(c) != 0;
			p += 2;
		} else {
			found = found || (p[1] <= c && c <= p[2]);
			p += 3;
		}
	}
	*pp = p + 1;
	return found != negated;
}

/* Whether name matches the tokens from p to end. */
static bool
name_matches(const char *name, const uint16_t *p, const uint16_t *end)
{
	const uint16_t *retry = NULL;
	const char *from = NULL;

	for (;;) {
		if (p < end && *p == STAR) {
			retry = ++p;
			from = name;
			continue;
		}
		if (p == end && *name == '\0')
			return true;
		if (p < end && *name != '\0') {
			uint8_t c = (uint8_t)*name++;

			if (*p == SET || *p == NOT_SET) {
				if (set_has(&p, c))
					continue;
			} else if (*p++ == ANY || p[-1] == c)
				continue;
		}
		/* Let the last star match one more byte. */
		if (retry == NULL || *from == '\0')
			return false;
		name = ++from;
		p = retry;
	}
}

static void
note_error(struct search *s)
{
	if (errno != ENOENT && errno != ENOTDIR)
		s->error = errno;
}

static enum kv_err
add_if_there(struct search *s)
{
	const size_t size = strlen(s->path) + 1;
	struct stat st;
	char *grown;

	if (lstat(s->path, &st) == -1) {
		note_error(s);
		return KV_OK;
	}
	if (s->cap - s->len < size) {
		if ((grown = realloc(s->found, 2 * s->cap + PATH_MAX)) == NULL)
			return KV_ERR_MEMORY;
		s->found = grown;
		s->cap = 2 * s->cap + PATH_MAX;
	}
	memcpy(s->found + s->len, s->path, size);
	s->len += size;
	s->n++;
	return KV_OK;
}

static enum kv_err find_below(struct search *s, size_t len, const uint16_t *p);

/*
 * Finds the names in the folder s->path, of len bytes, that match the tokens
 * from p to end.
 */
static enum kv_err
find_names(struct search *s, size_t len, const uint16_t *p, const uint16_t *end)
{
	enum kv_err r = KV_OK;
	struct dirent *entry;
	DIR *dir;

	s->path[len] = '\0';
	if ((dir = opendir(s->path)) == NULL) {
		note_error(s);
		return KV_OK;
	}
	while (r == KV_OK && (errno = 0, entry = readdir(dir)) != NULL) {
		size_t n = strlen(entry->d_name);

		if (entry->d_name[0] == '.' && *p != '.')
			continue;
		if (!name_matches(entry->d_name, p, end))
			continue;
		if (n >= sizeof(s->path) - len) {
			r = KV_ERR_NO_SPACE;
			break;
		}
		memcpy(s->path + len, entry->d_name, n);
		r = find_below(s, len + n, end);
	}
	if (r == KV_OK && errno != 0)
		note_error(s);
	closedir(dir);
	return r;
}

/*
 * Finds what the tokens from p on match below s->path, whose first len bytes
 * are set.
 */
static enum kv_err
find_below(struct search *s, size_t len, const uint16_t *p)
{
	while (*p != END) {
		const uint16_t *end = p;
		bool wild = false;

		while (*end != END && *end != '/')
			wild = *end++ > 0xff || wild;
		if (wild)
			return find_names(s, len, p, end);
		for (; p < end || *p == '/'; p++) {
			if (len + 1 >= sizeof(s->path))
				return KV_ERR_NO_SPACE;
			s->path[len++] = (char)*p;
		}
	}
	s->path[len] = '\0';
	return add_if_there(s);
}

static int
compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool
kv_wildcards_apply(enum kv_wildcards mode, const char *pattern)
{
	switch (mode) {
	case KV_WILDCARDS_YES:
		return true;
	case KV_WILDCARDS_NO:
		return false;
	case KV_WILDCARDS_WRITTEN:
		break;
	}
	/*
	 * A wildcard in a home's name must not turn a plain path into a
	 * pattern.
	 */
	return strpbrk(pattern, "*?[") != NULL;
}

/* Calls found for each path, in the order of strcmp. */
static enum kv_err
call_found_sorted(const struct search *s, kv_wildcards_found found, void *arg)
{
	const char **path = calloc(s->n + 1, sizeof(*path));
	const char *next = s->found;

	if (path == NULL)
		return KV_ERR_MEMORY;
	for (size_t i = 0; i < s->n; i++) {
		path[i] = next;
		next += strlen(next) + 1;
	}
	qsort(path, s->n, sizeof(*path), compare_paths);
	for (size_t i = 0; i < s->n && found(path[i], arg); i++)
		;
	free(path);
	return KV_OK;
}

enum kv_err
kv_wildcards_find(const char *pattern, kv_wildcards_found found, void *arg,
    int *errorp)
{
	struct compiler k;
	struct search s;
	enum kv_err r = KV_OK;

	*errorp = 0;
	if (strlen(pattern) >= PATH_MAX)
		return KV_ERR_NO_SPACE;
	k.n = k.at = k.len = s.n = s.len = s.cap = 0;
	k.matches_nothing = false;
	s.found = NULL;
	s.error = 0;
	compile_pattern(&k, pattern);
	if (!k.matches_nothing)
		r = find_below(&s, 0, k.out);
	if (r == KV_OK && s.n > 0)
		r = call_found_sorted(&s, found, arg);
	free(s.found);
	*errorp = s.error;
	return r;
}
