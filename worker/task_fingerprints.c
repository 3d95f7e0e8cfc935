/* SPDX-License-Identifier: ISC */
/* The task "fingerprints": finds those of a text, for tasks/fingerprints.h. */
#include <errno.h>
#include <string.h>

#include "kv_fingerprint.h"
#include "kv_lines.h"
#include "tasks.h"

#define LINE_BYTES (64 * 1024)
#define PREFIX "SHA256:"
#define BASE64 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* What the lines had. */
struct found {
	uint64_t bad_line;    /* the first with half a fingerprint; 0: none */
	uint64_t others;      /* lines without any that say something */
	uint64_t first_other; /* the number of the first of these */
};

static void
tell_digest(const uint8_t digest[static KV_SHA256_BYTES])
{
	record_add_bytes(task_result(), digest, KV_SHA256_BYTES);
	ask_tell();
}

/* The length of text's start that is base64. */
static size_t
base64_length(struct kv_span text)
{
	size_t n = 0;

	while (n < text.len && memchr(BASE64, text.p[n], sizeof(BASE64) - 1))
		n++;
	return n;
}

/* Tells each fingerprint of a line. False if one is none. */
static bool
find_in_line(struct kv_span text, bool *anyp)
{
	const size_t prefix = sizeof(PREFIX) - 1;
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_span rest = text;
	const uint8_t *p;

	*anyp = false;
	while ((p = memmem(rest.p, rest.len, PREFIX, prefix)) != NULL) {
		struct kv_span one = { p, rest.len - (size_t)(p - rest.p) };

		*anyp = true;
		one.p += prefix;
		one.len -= prefix;
		rest = one;
		one.len = base64_length(one);
		rest.p += one.len;
		rest.len -= one.len;
		one.p -= prefix;
		one.len += prefix;
		if (kv_fingerprint_parse(one, digest) != KV_OK)
			return false;
		tell_digest(digest);
	}
	return true;
}

static void
read_line(struct kv_span text, uint64_t number, struct found *f)
{
	bool any;

	while (text.len > 0 && memchr(" \t\r", text.p[0], 3) != NULL) {
		text.p++;
		text.len--;
	}
	if (text.len == 0 || text.p[0] == '#')
		return;
	if (!find_in_line(text, &any) && f->bad_line == 0)
		f->bad_line = number;
	if (!any && f->others++ == 0)
		f->first_other = number;
}

bool
task_fingerprints(struct task_work *t)
{
	static uint8_t buf[LINE_BYTES];
	struct found f = { 0 };
	struct kv_lines lines;
	struct kv_span text;
	struct record_out *o;
	bool more = true;
	enum kv_err err = KV_OK;
	int error;

	kv_lines_init(&lines, t->fd[0], buf, sizeof(buf));
	while (more && err != KV_ERR_SYSTEM) {
		err = kv_lines_next(&lines, &text, &more);
		if (err == KV_ERR_LINE_TOO_LONG && f.others++ == 0)
			f.first_other = lines.number;
		if (err == KV_OK && more)
			read_line(text, lines.number, &f);
	}
	error = err == KV_ERR_SYSTEM ? errno : 0;
	o = task_result();
	record_add_bytes(o, NULL, 0);
	record_add_number(o, (uint64_t)error);
	record_add_number(o, f.bad_line);
	record_add_number(o, f.others);
	record_add_number(o, f.first_other);
	ask_tell();
	return true;
}
