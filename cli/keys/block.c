/* SPDX-License-Identifier: ISC */
#include "keys/block.h"

#include <stdlib.h>
#include <string.h>

#include "keys/inside.h"
#include "keys/pem.h"

/* A shorter word of base64 behind another text begins no block. */
#define BEHIND_MIN 40

bool
block_open(struct block *b, uint64_t line)
{
	if (*b->room == NULL && (*b->room = malloc(PEM_MAX_BYTES)) == NULL)
		return false;
	*b = (struct block){ .room = b->room, .is_open = true, .line = line };
	return true;
}

bool
block_add(struct block *b, struct kv_span line)
{
	uint8_t *p = *b->room + b->len;

	if (line.len + 1 > PEM_MAX_BYTES - b->len) {
		b->too_long = true;
	} else {
		if (line.len > 0)
			memcpy(p, line.p, line.len);
		p[line.len] = '\n';
		b->len += line.len + 1;
	}
	return pem_is_end(line);
}

struct kv_span
block_text(const struct block *b)
{
	return (struct kv_span){ *b->room, b->len };
}

void
block_note_prefix(struct block *b, struct kv_span text)
{
	struct pem_place place;
	size_t len;

	if (!pem_find(text, &place))
		return;
	len = (size_t)(place.begin.p - text.p);
	if (len > sizeof(b->prefix))
		return;
	if (len > 0)
		memcpy(b->prefix, text.p, len);
	b->prefix_len = len;
}

/*
 * How long the mark of a diff or a mail is that both the prefix and the line begin
 * with: 1, or 0 if there is none. What stands behind the mark may differ.
 */
static size_t
mark_len(const struct block *b, struct kv_span s)
{
	static const char marks[] = "+->";

	return b->prefix_len > 0 && s.len > 0 && s.p[0] == b->prefix[0] &&
	    memchr(marks, s.p[0], sizeof(marks) - 1) != NULL;
}

/*
 * How long the prefix of the block is in a line. Editors cut the blanks at the end
 * of a line that has nothing else.
 */
static size_t
prefix_of_line(const struct block *b, struct kv_span s)
{
	static const char end[] = "-----END ";
	const size_t len = s.len < b->prefix_len ? s.len : b->prefix_len;

	/* The first dash of an END line is no mark of a diff. */
	if (s.len > sizeof(end) && memcmp(s.p, end, sizeof(end) - 1) == 0)
		return 0;
	if (len == 0 || memcmp(s.p, b->prefix, len) != 0)
		return mark_len(b, s);
	for (size_t i = len; i < b->prefix_len; i++) {
		if (b->prefix[i] != ' ' && b->prefix[i] != '\t')
			return mark_len(b, s);
	}
	return len;
}

static bool
is_quote(uint8_t c)
{
	return c == '"' || c == '\'';
}

/* Returns what is left of a line inside a quoted text: "MIIE...\n" + */
static struct kv_span
strip_quotes(struct kv_span s)
{
	while (s.len > 0 && (s.p[0] <= ' ' || is_quote(s.p[0]))) {
		s.p++;
		s.len--;
	}
	for (size_t i = s.len; i > 0; i--) {
		if (is_quote(s.p[i - 1]))
			s.len = i - 1;
	}
	for (;;) {
		uint8_t last = s.len > 0 ? s.p[s.len - 1] : 0;

		if (s.len > 1 && s.p[s.len - 2] == '\\' &&
		    (last == 'n' || last == 'r'))
			s.len -= 2;
		else if (s.len > 0 &&
		    (last <= ' ' || last == '\\' || last == ',' || last == ';'))
			s.len--;
		else
			return s;
	}
}

/* Where an END line begins in a text; NULL: nowhere. */
static const uint8_t *
find_end(struct kv_span s)
{
	const uint8_t *p;

	if (s.len == 0)
		return NULL;
	p = memmem(s.p, s.len, "-----END ", 9);
	return p != NULL ? p : memmem(s.p, s.len, "---- END ", 9);
}

/*
 * Returns what follows the last byte of the prefix, or an END, in a line; else
 * nothing.
 */
static struct kv_span
behind_last_byte(const struct block *b, struct kv_span s)
{
	const uint8_t *p = find_end(s);

	while (s.len > 0 && s.p[s.len - 1] <= ' ')
		s.len--;
	if (p == NULL && s.len > 0 &&
	    (p = memrchr(s.p, b->prefix[b->prefix_len - 1], s.len)) != NULL)
		p++;
	return (struct kv_span){ p, p == NULL ? 0 : (size_t)(s.p + s.len - p) };
}

/* A commit or a checksum in prose is base64, too. */
static bool
is_hex(struct kv_span s)
{
	static const char digits[] = "0123456789ABCDEFabcdef";
	size_t n = 0;

	while (n < s.len && memchr(digits, s.p[n], sizeof(digits) - 1) != NULL)
		n++;
	return n == s.len;
}

/* RFC 4716: all of its base64 is a key. Behind another BEGIN, a key is none of it. */
static bool
is_public(const struct block *b)
{
	static const char label[] = "SSH2 PUBLIC KEY";

	return b->len > 0 &&
	    memmem(*b->room, b->len, label, sizeof(label) - 1) != NULL;
}

/*
 * Tells if the first line behind the BEGIN has base64 at its end, and before that
 * another text than the BEGIN line, as the next number of cat -n.
 */
static bool
is_behind_another(const struct block *b, struct kv_span s)
{
	struct kv_span rest;
	const uint8_t *last;

	if (b->prefix_len == 0)
		return false;
	last = &b->prefix[b->prefix_len - 1];
	/* Base64 itself has the n of "\n-----BEGIN". */
	if (is_quote(*last) || *last == '\\' ||
	    inside_is_base64((struct kv_span){ last, 1 }))
		return false;
	rest = behind_last_byte(b, s);
	return rest.len >= BEHIND_MIN && inside_is_base64(rest) &&
	    !is_hex(rest) && (is_public(b) || !inside_is_key(rest));
}

/* Returns what is left of a line behind the prefix. */
static struct kv_span
strip(struct block *b, struct kv_span s)
{
	const size_t len = prefix_of_line(b, s);
	bool quoted = len < b->prefix_len, blank = true;

	if (b->is_new)
		b->varies = len == 0 && is_behind_another(b, s);
	if (b->varies) {
		struct kv_span rest = behind_last_byte(b, s);

		return rest.len > 0 ? rest : s;
	}
	/* Then no line has it: base64 may begin with the same letter. */
	if (b->is_new && len == 0 && s.len > 0)
		b->prefix_len = 0;
	for (size_t i = 0; i < len; i++) {
		quoted |= is_quote(b->prefix[i]);
		blank &= b->prefix[i] <= ' ';
	}
	s.p += len;
	s.len -= len;
	/* Behind blanks, lines of C may end in \n\ as well. */
	if (quoted || blank)
		return strip_quotes(s);
	/* The comment of RFC 4716 has quotes of its own. */
	while (s.len > 0 && s.p[s.len - 1] <= ' ')
		s.len--;
	return s;
}

/*
 * Tells if a line may be the first in a PEM block: base64 or a header. Where an END
 * follows, a text only names the two.
 */
static bool
may_follow_begin(struct kv_span s)
{
	static const char comment[] = "Comment: ";

	if (s.len > sizeof(comment) &&
	    memcmp(s.p, comment, sizeof(comment) - 1) == 0)
		return true;
	return s.len == 0 || (s.len >= 16 && inside_is_base64(s)) ||
	    (s.len > 8 && memchr(s.p, ':', s.len) != NULL &&
		memchr(s.p, '(', s.len) == NULL);
}

size_t
block_split(struct block *b, struct kv_span text, struct kv_span part[static 2],
    struct kv_span *restp)
{
	struct kv_span line = strip(b, text);
	const uint8_t *end = line.len > 0 ?
	    memmem(line.p, line.len, "-----END ", 9) :
	    NULL;
	size_t n = 0;

	if (b->is_new && !may_follow_begin(line))
		return 0;
	if (end != NULL && end > line.p) {
		part[n++] = strip_quotes(
		    (struct kv_span){ line.p, (size_t)(end - line.p) });
		line.len -= (size_t)(end - line.p);
		line.p = end;
	}
	for (size_t i = 9; end != NULL && i + 5 <= line.len; i++) {
		if (memcmp(line.p + i, "-----", 5) == 0)
			line.len = i + 5;
	}
	part[n++] = line;
	restp->p = line.p + line.len;
	restp->len = (size_t)(text.p + text.len - restp->p);
	return n;
}

void
block_close(struct block *b)
{
	if (b->is_open)
		explicit_bzero(*b->room, b->len);
	b->is_open = false;
}
