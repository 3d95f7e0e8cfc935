/* SPDX-License-Identifier: ISC */
/*
 * The task "fingerprints": finds those of a text, for key_lines/deny.c.
 */
#include <errno.h>
#include <string.h>

#include "kv_fingerprint.h"
#include "kv_line.h"
#include "kv_lines.h"
#include "base/base64.h"
#include "keys/inside.h"
#include "tasks.h"

#define LINE_BYTES (64 * 1024)
#define PREFIX "SHA256:"
#define PREFIX_BYTES (sizeof(PREFIX) - 1)
/* No line has more keys. */
#define LINE_KEYS (LINE_BYTES / 64)

/* What the file had. */
struct found {
	int error;	      /* errno of a read */
	uint64_t bad_line;    /* the first with half of one, or MD5; 0: none */
	uint64_t key_line;    /* the first with a key; 0: none */
	uint64_t others;      /* lines without any that say something */
	uint64_t first_other; /* the number of the first of these */
};

static void
tell_digest(const uint8_t digest[static KV_SHA256_BYTES])
{
	task_tell(R_SPAN(((struct kv_span){ digest, KV_SHA256_BYTES })));
}

enum fingerprints {
	FINGERPRINTS_NONE,
	FINGERPRINTS_FOUND,
	FINGERPRINTS_BAD, /* one is not whole; those before it were told */
};

/* Tells each fingerprint in the text. */
static enum fingerprints
tell_digests(struct kv_span text)
{
	enum fingerprints found = FINGERPRINTS_NONE;
	uint8_t digest[KV_SHA256_BYTES];
	const uint8_t *p;

	while (text.len > 0 &&
	    (p = memmem(text.p, text.len, PREFIX, PREFIX_BYTES)) != NULL) {
		struct kv_span one = { p, PREFIX_BYTES };

		text.len -= (size_t)(p - text.p);
		while (one.len < text.len && base64_is_digit(p[one.len]))
			one.len++;
		text.p = p + one.len;
		text.len -= one.len;
		if (kv_fingerprint_parse(one, digest) != KV_OK)
			return FINGERPRINTS_BAD;
		tell_digest(digest);
		found = FINGERPRINTS_FOUND;
	}
	return found;
}

/*
 * Whether a line has a key: its owner writes the rest of the line, so no
 * fingerprint there counts. A blob begins with four bytes of a length below 64.
 * A block begins with four hyphens (RFC 4716) or five; YAML, with three.
 */
static bool
has_key(struct kv_span text)
{
	static const char blob[] = "AAAA", armor[] = "----";
	const uint8_t *end = text.p + text.len, *p = text.p;

	if (text.len >= 4 && memcmp(text.p, armor, 4) == 0)
		return true;
	while ((p = memmem(p, (size_t)(end - p), blob, 4)) != NULL) {
		const size_t before = (size_t)(p - text.p);

		if (before == 0 ||
		    (!base64_is_digit(p[-1]) &&
			(before < 7 || memcmp(p - 7, PREFIX, 7) != 0)))
			return true;
		p++;
	}
	return false;
}

/* The keys of a line. */
struct line_keys {
	uint8_t digest[LINE_KEYS][KV_SHA256_BYTES];
	size_t n;
};

static void
add_key(const struct inside_found *found, void *arg)
{
	struct line_keys *k = arg;

	if (found->is == INSIDE_KEY && k->n < LINE_KEYS)
		kv_fingerprint_digest(&found->key->key, k->digest[k->n++]);
}

/*
 * Tells the fingerprints that stand beside keys in a line of JSON, but are none
 * of theirs. The owner of a key writes its comment, which is in its string: only
 * one with a string of its own counts.
 */
static void
tell_beside_keys(struct kv_span text)
{
	static const char start[] = "\"" PREFIX;
	static uint8_t blob[KV_BLOB_MAX_BYTES];
	static struct line_keys keys;
	const uint8_t *end = text.p + text.len, *p = text.p;
	uint8_t digest[KV_SHA256_BYTES];

	keys.n = 0;
	(void)inside_find(text, blob, add_key, &keys);
	while ((p = memmem(p, (size_t)(end - p), start, sizeof(start) - 1)) !=
	    NULL) {
		struct kv_span one = { p + 1, sizeof(PREFIX) - 1 };
		const bool own = p > text.p && p[-1] != '\\';
		bool known = false;

		while (one.p + one.len < end && base64_is_digit(one.p[one.len]))
			one.len++;
		p = one.p + one.len;
		if (!own || kv_fingerprint_parse(one, digest) != KV_OK)
			continue;
		for (size_t i = 0; i < keys.n; i++)
			known |= memcmp(keys.digest[i], digest,
				     sizeof(digest)) == 0;
		if (!known)
			tell_digest(digest);
	}
}

static void
read_line(struct kv_span text, uint64_t number, struct found *f)
{
	enum fingerprints any;

	while (text.len > 0 && memchr(" \t\r", text.p[0], 3) != NULL) {
		text.p++;
		text.len--;
	}
	if (text.len == 0 || text.p[0] == '#')
		return;
	if (has_key(text)) {
		if (f->key_line == 0)
			f->key_line = number;
		if (text.p[0] == '{' || text.p[0] == '[')
			tell_beside_keys(text);
		return;
	}
	any = tell_digests(text);
	if (any == FINGERPRINTS_NONE &&
	    memmem(text.p, text.len, "MD5:", 4) != NULL)
		any = FINGERPRINTS_BAD;
	if (any == FINGERPRINTS_BAD && f->bad_line == 0)
		f->bad_line = number;
	if (any == FINGERPRINTS_NONE && f->others++ == 0)
		f->first_other = number;
}

static void
read_lines(int fd, struct found *f)
{
	static uint8_t buf[LINE_BYTES];
	struct kv_lines lines;
	struct kv_span text;
	bool more = true;
	enum kv_err err = KV_OK;

	kv_lines_init(&lines, fd, buf, sizeof(buf));
	while (more && err != KV_ERR_SYSTEM) {
		err = kv_lines_next(&lines, &text, &more);
		if (err == KV_ERR_LINE_TOO_LONG && f->others++ == 0)
			f->first_other = lines.number;
		if (err == KV_OK && more)
			read_line(text, lines.number, f);
	}
	if (err == KV_ERR_SYSTEM)
		f->error = errno;
}

bool
task_fingerprints(struct task_work *t)
{
	const struct kv_span no_digest = { NULL, 0 };
	struct found f = { 0 };

	read_lines(t->fd[0], &f);
	return task_tell(R_SPAN(no_digest), R_VALUE(f.error), R_ANY(f.key_line),
	    R_ANY(f.bad_line), R_ANY(f.others), R_ANY(f.first_other));
}
