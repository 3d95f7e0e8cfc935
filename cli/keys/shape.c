/* SPDX-License-Identifier: ISC */
#include "keys/shape.h"

#include <string.h>

#include "kv_sshkey.h"

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\t';
}

struct kv_span
shape_skip_blanks(struct kv_span text)
{
	while (text.len > 0 && is_blank(text.p[0])) {
		text.p++;
		text.len--;
	}
	return text;
}

/*
 * Skips the marker that may start a known_hosts line. The rest is like any
 * other line. False for a marker that ssh does not know.
 */
static bool
skip_marker(struct kv_span *text)
{
	static const char *const markers[] = { "@cert-authority", "@revoked" };
	struct kv_span rest = shape_skip_blanks(*text);

	for (size_t i = 0; i < 2; i++) {
		size_t len = strlen(markers[i]);

		if (rest.len < len || memcmp(rest.p, markers[i], len) != 0 ||
		    (rest.len > len && !is_blank(rest.p[len])))
			continue;
		text->p = rest.p + len;
		text->len = rest.len - len;
		return true;
	}
	return rest.len == 0 || rest.p[0] != '@';
}

/*
 * Every SSH blob starts with the length of a short name, so its base64 starts
 * with AAAA. Prose about ssh-rsa keys does not.
 */
static bool
is_keyless(enum kv_err err, const struct kv_line *line)
{
	if (err == KV_ERR_LINE_SSH1)
		return false;
	if (err == KV_ERR_LINE_NO_KEY || err == KV_ERR_LINE_QUOTE ||
	    err == KV_ERR_LINE_MARKER)
		return true;
	return line->base64.len < 4 || memcmp(line->base64.p, "AAAA", 4) != 0;
}

/*
 * Neither sshd nor kv_line_parse reads a key that follows a byte order mark.
 */
static bool
has_key_after_bom(struct kv_span text, uint8_t *blob)
{
	struct kv_line line;

	if (text.len < 3 || memcmp(text.p, "\xef\xbb\xbf", 3) != 0)
		return false;
	text.p += 3;
	text.len -= 3;
	return kv_line_parse(text, blob, KV_BLOB_MAX_BYTES, &line) == KV_OK &&
	    !line.is_blank;
}

static bool
is_in_text(struct kv_span options)
{
	return options.len > 0 &&
	    (kv_span_is(options, "-") || options.p[options.len - 1] == ':' ||
		options.p[0] == '{' || options.p[0] == '[');
}

bool
shape_has_more(struct kv_span text)
{
	static const char define[] = "#define ";

	text = shape_skip_blanks(text);
	if (text.len == 0)
		return false;
	if (text.p[0] != '#')
		return true;
	return memchr(text.p, '\0', text.len) != NULL ||
	    (text.len > sizeof(define) &&
		memcmp(text.p, define, sizeof(define) - 1) == 0);
}

bool
shape_is_opening(struct kv_span text)
{
	while (text.len > 0 && text.p[text.len - 1] <= ' ')
		text.len--;
	/* A byte of binary data may be any of these. */
	return text.len > 0 && memchr(text.p, '\0', text.len) == NULL &&
	    (strchr("{[(:|>", text.p[text.len - 1]) != NULL ||
		memmem(text.p, text.len, "<<", 2) != NULL ||
		kv_span_is(text, "---") ||
		(text.len > 11 && memcmp(text.p, "-----BEGIN ", 11) == 0) ||
		text.p[0] == '{' || text.p[0] == '[' || text.p[0] == '<');
}

void
shape_read(struct kv_span text, uint8_t *blob, struct shape *s)
{
	bool unknown_marker;

	s->rest = text;
	unknown_marker = !skip_marker(&s->rest);
	s->line = (struct kv_line){ 0 };
	s->err = kv_line_parse(s->rest, blob, KV_BLOB_MAX_BYTES, &s->line);
	/* If a key follows, the word may be options, so the key counts. */
	if (unknown_marker && s->err != KV_OK)
		s->err = KV_ERR_LINE_MARKER;
	s->revoked = memmem(text.p, text.len - s->rest.len, "@revoked", 8);
	s->in_text = is_in_text(s->line.options);
	s->has_more = s->broken = s->keyless = false;
	if (s->err == KV_OK && !s->line.is_blank) {
		s->is = SHAPE_KEY;
	} else if (s->err == KV_OK) {
		s->is = SHAPE_BLANK;
		s->has_more = shape_has_more(s->rest);
	} else if (s->err == KV_ERR_TYPE_UNKNOWN && s->line.type.len > 0 &&
	    kv_keyname_find(s->line.type) == NULL) {
		s->is = SHAPE_NEW_TYPE;
	} else if (has_key_after_bom(text, blob)) {
		s->is = SHAPE_MARKED;
	} else {
		s->is = SHAPE_OTHER;
		s->broken = s->line.type.len > 0 || s->err == KV_ERR_LINE_SSH1;
		s->keyless = is_keyless(s->err, &s->line);
	}
}
