/* SPDX-License-Identifier: ISC */
#include "kv_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void
kv_lines_init(struct kv_lines *l, int fd, uint8_t *buf, size_t cap)
{
	*l = (struct kv_lines){ .fd = fd, .buf = buf, .cap = cap };
}

/* Makes room at the end of the buffer and reads into it. */
static enum kv_err
fill_buffer(struct kv_lines *l)
{
	ssize_t n;

	if (l->start > 0) {
		memmove(l->buf, l->buf + l->start, l->end - l->start);
		l->end -= l->start;
		l->start = 0;
	}
	do
		n = read(l->fd, l->buf + l->end, l->cap - l->end);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return KV_ERR_SYSTEM;
	if (n == 0)
		l->eof = true;
	l->end += (size_t)n;
	return KV_OK;
}

enum kv_err
kv_lines_next(struct kv_lines *l, struct kv_span *linep, bool *morep)
{
	size_t looked = 0;
	enum kv_err r;

	*linep = (struct kv_span){ NULL, 0 };
	*morep = true;
	for (;;) {
		uint8_t *from = l->buf + l->start;
		size_t have = l->end - l->start;
		uint8_t *nl = have > looked ?
		    memchr(from + looked, '\n', have - looked) :
		    NULL;

		if (nl != NULL || (l->eof && have > 0)) {
			size_t len = nl != NULL ? (size_t)(nl - from) : have;

			l->start += len + (nl != NULL);
			if (l->skipping) {
				l->skipping = false;
				looked = 0;
				continue;
			}
			l->number++;
			*linep = (struct kv_span){ from, len };
			return KV_OK;
		}
		if (l->eof) {
			*morep = false;
			return KV_OK;
		}
		looked = have;
		if (have == l->cap || l->skipping) {
			bool first = !l->skipping;

			l->skipping = true;
			l->start = l->end;
			looked = 0;
			if (first) {
				l->number++;
				return KV_ERR_LINE_TOO_LONG;
			}
		}
		if ((r = fill_buffer(l)) != KV_OK)
			return r;
	}
}
