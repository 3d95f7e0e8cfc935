/* SPDX-License-Identifier: ISC */
#include "base/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define LENGTH_BYTES 4
/* How many bytes wait in the buffer before they are written unasked. */
#define FLUSH_BYTES (512 * 1024)

static void
store_u32(uint8_t *p, uint32_t n)
{
	p[0] = (uint8_t)(n >> 24);
	p[1] = (uint8_t)(n >> 16);
	p[2] = (uint8_t)(n >> 8);
	p[3] = (uint8_t)n;
}

/* If the records cannot be written, their receiver is gone. */
void
record_flush(struct record_out *o)
{
	if (o->start == 0)
		return;
	if (!io_write(o->fd, o->buf, o->start))
		_exit(1);
	memmove(o->buf, o->buf + o->start, o->len - o->start);
	o->len -= o->start;
	o->start = 0;
}

static void
grow(struct record_out *o, size_t wanted)
{
	size_t cap = o->cap > 0 ? o->cap : 4096;
	uint8_t *buf;

	while (cap < wanted)
		cap *= 2;
	if ((buf = realloc(o->buf, cap)) == NULL)
		_exit(1);
	o->buf = buf;
	o->cap = cap;
}

static uint8_t *
reserve_bytes(struct record_out *o, size_t n)
{
	if (n > RECORD_MAX_BYTES - (o->len - o->start))
		_exit(1);
	if (o->fd != -1 && o->start > 0 && o->len + n > FLUSH_BYTES)
		record_flush(o);
	if (o->len + n > o->cap)
		grow(o, o->len + n);
	o->len += n;
	return o->buf + o->len - n;
}

void
record_begin(struct record_out *o, uint8_t tag)
{
	reserve_bytes(o, LENGTH_BYTES);
	*reserve_bytes(o, 1) = tag;
}

void
record_add_number(struct record_out *o, uint64_t n)
{
	uint8_t *p = reserve_bytes(o, 8);

	store_u32(p, (uint32_t)(n >> 32));
	store_u32(p + 4, (uint32_t)n);
}

void
record_add_bytes(struct record_out *o, const void *p, size_t len)
{
	store_u32(reserve_bytes(o, LENGTH_BYTES), (uint32_t)len);
	if (len > 0)
		memcpy(reserve_bytes(o, len), p, len);
}

void
record_add_text(struct record_out *o, const char *text)
{
	record_add_bytes(o, text, strlen(text));
}

void
record_end(struct record_out *o)
{
	store_u32(o->buf + o->start,
	    (uint32_t)(o->len - o->start - LENGTH_BYTES));
	o->start = o->len;
}

void
record_clear(struct record_out *o)
{
	o->start = o->len = 0;
}

void
record_out_free(struct record_out *o)
{
	free(o->buf);
	*o = (struct record_out){ .fd = -1 };
}

ssize_t
record_fill(struct record_in *in, int fd)
{
	size_t cap = in->cap > 0 ? 2 * in->cap : 16 * 1024;
	uint8_t *buf;
	ssize_t n;

	if (in->start > 0) {
		memmove(in->buf, in->buf + in->start, in->end - in->start);
		in->end -= in->start;
		in->start = 0;
	}
	if (in->end == RECORD_MAX_BYTES) {
		errno = EMSGSIZE;
		return -1;
	}
	if (in->end == in->cap) {
		if ((buf = realloc(in->buf, cap)) == NULL)
			return -1;
		in->buf = buf;
		in->cap = cap;
	}
	do
		n = read(fd, in->buf + in->end, in->cap - in->end);
	while (n == -1 && errno == EINTR);
	if (n > 0)
		in->end += (size_t)n;
	return n;
}

bool
record_cut(struct kv_bytes *b, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp)
{
	struct kv_bytes rest = *b;
	uint32_t len;

	*badp = false;
	if (rest.left == 0 || kv_bytes_get_u32(&rest, &len) != KV_OK)
		return false;
	if (len == 0 || len > RECORD_MAX_BYTES - LENGTH_BYTES) {
		*badp = true;
		return false;
	}
	if (rest.left < len)
		return false;
	*tagp = *rest.p;
	*payload = (struct kv_bytes){ rest.p + 1, len - 1 };
	*b = (struct kv_bytes){ rest.p + len, rest.left - len };
	return true;
}

bool
record_next(struct record_in *in, uint8_t *tagp, struct kv_bytes *payload,
    bool *badp)
{
	struct kv_bytes b = { in->buf + in->start, in->end - in->start };

	if (!record_cut(&b, tagp, payload, badp))
		return false;
	in->start = in->end - b.left;
	return true;
}

void
record_in_free(struct record_in *in)
{
	free(in->buf);
	*in = (struct record_in){ 0 };
}

bool
record_get_text(struct kv_bytes *b, char *text, size_t cap)
{
	struct kv_span s;

	if (kv_bytes_get_string(b, &s) != KV_OK || s.len >= cap ||
	    (s.len > 0 && memchr(s.p, '\0', s.len) != NULL))
		return false;
	if (s.len > 0)
		memcpy(text, s.p, s.len);
	text[s.len] = '\0';
	return true;
}

char *
record_copy_text(struct kv_bytes *b)
{
	struct kv_span s;

	if (kv_bytes_get_string(b, &s) != KV_OK ||
	    (s.len > 0 && memchr(s.p, '\0', s.len) != NULL))
		return NULL;
	return strndup(s.len > 0 ? (const char *)s.p : "", s.len);
}

bool
record_get_number(struct kv_bytes *b, uint64_t *np)
{
	uint32_t high, low;

	if (kv_bytes_get_u32(b, &high) != KV_OK ||
	    kv_bytes_get_u32(b, &low) != KV_OK)
		return false;
	*np = (uint64_t)high << 32 | low;
	return true;
}

/* A number of the width that it has in memory. */
union number {
	uint8_t byte;
	uint32_t half;
	uint64_t whole;
};

static void
add_number(struct record_out *o, const struct record_field *f)
{
	union number n = { .whole = 0 };

	memcpy(&n, f->at, f->size);
	record_add_number(o,
	    f->size == 1     ? n.byte :
		f->size == 4 ? n.half :
			       n.whole);
}

static bool
get_number(struct kv_bytes *b, const struct record_field *f)
{
	union number n;
	uint64_t whole;

	if (!record_get_number(b, &whole) || whole < f->min || whole > f->max ||
	    (f->size < sizeof(whole) && whole >> (8 * f->size) != 0))
		return false;
	if (f->size == 1)
		n.byte = (uint8_t)whole;
	else if (f->size == 4)
		n.half = (uint32_t)whole;
	else
		n.whole = whole;
	memcpy(f->at, &n, f->size);
	return true;
}

void
record_add_fields(struct record_out *o, const struct record_field *f)
{
	const struct kv_span *s;

	for (; f->kind != RECORD_END; f++) {
		s = f->at;
		if (f->kind == RECORD_TEXTS)
			for (char *const *text = f->at; *text != NULL; text++)
				record_add_text(o, *text);
		else if (f->kind == RECORD_NUMBER)
			add_number(o, f);
		else if (f->kind == RECORD_TEXT)
			record_add_text(o, f->at);
		else if (f->kind == RECORD_BYTES)
			record_add_bytes(o, f->at, f->size);
		else
			record_add_bytes(o, s->p, s->len);
	}
}

void
record_send_fields(struct record_out *o, uint8_t tag,
    const struct record_field *f)
{
	record_begin(o, tag);
	record_add_fields(o, f);
	record_end(o);
}

void
record_send_last(struct record_out *o, uint8_t tag)
{
	record_begin(o, tag);
	record_end(o);
	record_flush(o);
}

static bool
get_field(struct kv_bytes *b, const struct record_field *f)
{
	struct kv_span s;

	if (f->kind == RECORD_NUMBER)
		return get_number(b, f);
	if (f->kind == RECORD_TEXT)
		return record_get_text(b, f->at, f->size);
	if (kv_bytes_get_string(b, &s) != KV_OK ||
	    (f->kind == RECORD_BYTES && s.len != f->size))
		return false;
	if (f->kind == RECORD_BYTES)
		memcpy(f->at, s.p, s.len);
	else
		*(struct kv_span *)f->at = s;
	return true;
}

bool
record_get_fields(struct kv_bytes *b, const struct record_field *f)
{
	while (f->kind != RECORD_END)
		if (!get_field(b, f++))
			return false;
	return true;
}
