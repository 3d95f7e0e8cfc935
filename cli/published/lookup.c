/* SPDX-License-Identifier: ISC */
#include "published/lookup.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kv_pread.h"

#define DIGITS 16
/* What is read at a time: the rest of a line, and a whole one. */
#define WINDOW (2 * LOOKUP_LINE_MAX)

struct search {
	int fd;
	uint64_t size;
	char digits[DIGITS + 1]; /* of the hash */
	char *why;
	/* The bytes of the file from at on. */
	uint64_t at;
	size_t len;
	uint8_t window[WINDOW];
};

static bool
read_window(struct search *s, uint64_t at)
{
	uint64_t left = s->size - at;
	enum kv_err err;

	s->at = at;
	s->len = left < WINDOW ? (size_t)left : WINDOW;
	err = kv_pread(s->fd, s->window, s->len, (off_t)at, KV_ERR_LIST_SIZE);
	if (err == KV_OK)
		return true;
	snprintf(s->why, LOOKUP_WHY_BYTES, "%s",
	    err == KV_ERR_SYSTEM ? strerror(errno) :
				   "became shorter while it was read");
	return false;
}

static bool
refuse_line(const struct search *s, uint64_t at)
{
	snprintf(s->why, LOOKUP_WHY_BYTES,
	    "byte %" PRIu64 " does not begin a line of %d hexadecimal digits, "
	    "a semicolon and a path, of less than %d bytes",
	    at, DIGITS, LOOKUP_LINE_MAX);
	return false;
}

/*
 * Sets *linep to the line at byte from of the window, without its line end.
 * False with a reason.
 */
static bool
find_line(const struct search *s, size_t from, struct kv_span *linep)
{
	const uint8_t *p = s->window + from, *end;

	end = memchr(p, '\n', s->len - from);
	if (end == NULL && s->at + s->len == s->size)
		end = s->window + s->len;
	if (end == NULL || end - p <= DIGITS || end - p >= LOOKUP_LINE_MAX ||
	    p[DIGITS] != ';')
		return refuse_line(s, s->at + from);
	for (size_t i = 0; i < DIGITS; i++) {
		if (p[i] == '\0' || strchr("0123456789abcdef", p[i]) == NULL)
			return refuse_line(s, s->at + from);
	}
	*linep = (struct kv_span){ p, (size_t)(end - p) };
	return true;
}

/*
 * Sets *startp to the first byte of a line below which all lines are below the
 * hash, and near the first that is not. False with a reason.
 */
static bool
find_start(struct search *s, uint64_t *startp)
{
	uint64_t low = 0, high = s->size; /* of where that line begins */
	struct kv_span line;

	while (high - low > LOOKUP_LINE_MAX) {
		uint64_t middle = low + (high - low) / 2;
		const uint8_t *nl;
		size_t next;

		if (!read_window(s, middle))
			return false;
		nl = memchr(s->window, '\n', s->len);
		next = nl != NULL ? (size_t)(nl - s->window) + 1 : s->len;
		if (nl == NULL && s->at + s->len < s->size)
			return refuse_line(s, middle);
		if (s->at + next >= high) {
			high = middle;
			continue;
		}
		if (!find_line(s, next, &line))
			return false;
		if (memcmp(line.p, s->digits, DIGITS) < 0)
			low = s->at + next;
		else
			high = middle;
	}
	*startp = low;
	return true;
}

/* Gives the paths of the lines from start on that have the hash. */
static bool
send_paths(struct search *s, uint64_t start,
    void (*give)(struct kv_span path, void *arg), void *arg)
{
	char last[DIGITS] = { 0 };
	struct kv_span line;
	int order = -1;

	for (size_t given = 0;
	     order <= 0 && start < s->size && given < LOOKUP_PATHS_MAX;
	     start += line.len + 1) {
		if (start < s->at || start - s->at > s->len - LOOKUP_LINE_MAX ||
		    s->len < LOOKUP_LINE_MAX) {
			if (!read_window(s, start))
				return false;
		}
		if (!find_line(s, (size_t)(start - s->at), &line))
			return false;
		if (memcmp(last, line.p, DIGITS) > 0) {
			snprintf(s->why, LOOKUP_WHY_BYTES,
			    "the line at byte %" PRIu64
			    " is below the one before it",
			    start);
			return false;
		}
		memcpy(last, line.p, DIGITS);
		order = memcmp(line.p, s->digits, DIGITS);
		if (order != 0)
			continue;
		given++;
		give((struct kv_span){ line.p + DIGITS + 1,
			 line.len - DIGITS - 1 },
		    arg);
	}
	return true;
}

bool
lookup_find(int fd, const struct kv_blocklist_hash *h,
    void (*give)(struct kv_span path, void *arg), void *arg,
    char why[static LOOKUP_WHY_BYTES])
{
	struct search s = { .fd = fd, .why = why };
	uint64_t start;
	struct stat st;

	why[0] = '\0';
	if (fstat(fd, &st) == -1) {
		snprintf(why, LOOKUP_WHY_BYTES, "%s", strerror(errno));
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		snprintf(why, LOOKUP_WHY_BYTES, "not a regular file");
		return false;
	}
	s.size = (uint64_t)st.st_size;
	for (size_t i = 0; i < DIGITS / 2; i++)
		snprintf(s.digits + 2 * i, 3, "%02x", h->byte[i]);
	return find_start(&s, &start) && send_paths(&s, start, give, arg);
}
