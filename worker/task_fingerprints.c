/* SPDX-License-Identifier: ISC */
/*
 * The task "fingerprints": finds those of a text, or of what a KRL of OpenSSH
 * revokes (PROTOCOL.krl), for tasks/fingerprints.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kv_fingerprint.h"
#include "kv_lines.h"
#include "base/io.h"
#include "keys/krl.h"
#include "tasks.h"

#define LINE_BYTES (64 * 1024)
#define PREFIX "SHA256:"
#define BASE64 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/* What the file had. */
struct found {
	int error; /* errno of a read */
	bool is_krl, bad_krl;
	uint64_t left_out;    /* enum krl_left_out */
	uint64_t bad_line;    /* the first with half a fingerprint; 0: none */
	uint64_t key_line;    /* the first with a key; 0: none */
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
		    (!memchr(BASE64, p[-1], sizeof(BASE64) - 1) &&
			(before < 7 || memcmp(p - 7, PREFIX, 7) != 0)))
			return true;
		p++;
	}
	return false;
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
	if (has_key(text)) {
		if (f->key_line == 0)
			f->key_line = number;
		return;
	}
	if (!find_in_line(text, &any) && f->bad_line == 0)
		f->bad_line = number;
	if (!any && f->others++ == 0)
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

/* Tells the key of a blob: of one that keyveto knows, in its canonical form. */
static void
tell_key(struct kv_span blob, void *arg)
{
	uint8_t digest[KV_SHA256_BYTES];
	struct kv_sshkey key;

	(void)arg;
	if (kv_sshkey_parse(blob.p, blob.len, &key) == KV_OK)
		kv_fingerprint_digest(&key.key, digest);
	else
		kv_fingerprint_digest_blob(blob.p, blob.len, digest);
	tell_digest(digest);
}

static void
tell_sha256(const uint8_t digest[static KV_SHA256_BYTES], void *arg)
{
	(void)arg;
	tell_digest(digest);
}

/* Whether the file is a KRL: then its keys are told. */
static bool
find_krl(int fd, struct found *f)
{
	const struct krl_sink sink = { .key = tell_key, .sha256 = tell_sha256 };
	uint8_t start[KRL_MAGIC_BYTES], *p;
	ssize_t n = pread(fd, start, sizeof(start), 0);

	if (n != (ssize_t)sizeof(start) ||
	    memcmp(start, KRL_MAGIC, sizeof(start)) != 0)
		return false;
	p = malloc(KRL_MAX_BYTES);
	n = p != NULL ? io_read(fd, p, KRL_MAX_BYTES) : -1;
	f->is_krl = true;
	f->error = n == -1 ? errno : n == (ssize_t)KRL_MAX_BYTES ? EFBIG : 0;
	f->bad_krl = f->error == 0 &&
	    !krl_read((struct kv_span){ p, (size_t)n }, &sink, &f->left_out);
	free(p);
	return true;
}

bool
task_fingerprints(struct task_work *t)
{
	struct found f = { 0 };
	struct record_out *o;

	if (!find_krl(t->fd[0], &f))
		read_lines(t->fd[0], &f);
	o = task_result();
	record_add_bytes(o, NULL, 0);
	record_add_number(o, (uint64_t)f.error);
	record_add_number(o, f.is_krl);
	record_add_number(o, f.bad_krl);
	record_add_number(o, f.left_out);
	record_add_number(o, f.key_line);
	record_add_number(o, f.bad_line);
	record_add_number(o, f.others);
	record_add_number(o, f.first_other);
	ask_tell();
	return true;
}
