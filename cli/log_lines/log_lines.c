/* SPDX-License-Identifier: ISC */
#include "log_lines/log_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "keys/unpack.h"

/* A log that is read. */
struct stream {
	const struct log_lines *l;
	struct unpack unpack;
	uint8_t buf[8 * LOG_LINE_BYTES];
	size_t len;
	bool eof;
	bool skip; /* what comes first is the end of a line that is too long */
};

/* False with unpack.why, or errno. */
static bool
read_on(struct stream *s)
{
	ssize_t n;

	s->unpack.why = NULL;
	s->l->more(s->unpack.fd, s->l->arg);
	n = unpack_read(&s->unpack, s->buf + s->len,
	    sizeof(s->buf) - 1 - s->len);
	if (n == -1)
		return errno == EINTR && s->unpack.why == NULL;
	s->eof = n == 0;
	s->len += (size_t)n;
	return true;
}

static void
handle_line(const struct stream *s, uint8_t *line, size_t len)
{
	if (len >= LOG_LINE_BYTES)
		return;
	for (uint8_t *p = line;
	     (p = memchr(p, '\0', len - (size_t)(p - line)));)
		*p = ' ';
	line[len] = '\0';
	s->l->line((char *)line, len, s->l->arg);
}

/* Handles the lines that are whole, and keeps the rest. */
static void
handle_lines(struct stream *s)
{
	uint8_t *line = s->buf, *nl;
	size_t left = s->len;

	while ((nl = memchr(line, '\n', left)) != NULL) {
		if (!s->skip)
			handle_line(s, line, (size_t)(nl - line));
		s->skip = false;
		left -= (size_t)(nl + 1 - line);
		line = nl + 1;
	}
	if (s->eof && !s->skip && left > 0)
		handle_line(s, line, left);
	if (left >= LOG_LINE_BYTES || s->eof) {
		left = 0;
		s->skip = true;
	}
	memmove(s->buf, line, left);
	s->len = left;
}

/* Reads the start of a log, which may be gzip or xz. False as read_on. */
static bool
begin_stream(struct stream *s)
{
	enum unpack_form form = UNPACK_SHORT;
	struct kv_span start;

	while (form == UNPACK_SHORT && !s->eof) {
		if (!read_on(s))
			return false;
		start = (struct kv_span){ s->buf, s->len };
		form = unpack_recognise(start);
		if (form != UNPACK_GZIP && form != UNPACK_XZ)
			continue;
		if (!unpack_add(&s->unpack, form, start))
			return false;
		s->len = 0;
		form = UNPACK_SHORT;
	}
	if (unpack_foreign((struct kv_span){ s->buf, s->len }) == NULL)
		return true;
	s->unpack.why = "packed in a form that keyveto does not read: unpack "
			"it first";
	return false;
}

bool
log_lines_read(const struct log_lines *l, int fd,
    char why[static LOG_WHY_BYTES])
{
	static struct stream s;
	bool ok;

	s = (struct stream){ .l = l, .unpack.fd = fd };
	ok = begin_stream(&s);
	while (ok) {
		handle_lines(&s);
		if (s.eof)
			break;
		ok = read_on(&s);
	}
	if (!ok && s.unpack.why != NULL)
		snprintf(why, LOG_WHY_BYTES, "%s", s.unpack.why);
	else if (!ok)
		snprintf(why, LOG_WHY_BYTES, "cannot be read: %s",
		    strerror(errno));
	unpack_free(&s.unpack);
	return ok;
}
