/* SPDX-License-Identifier: ISC */
#include "keys/fold.h"

#include <stdlib.h>
#include <string.h>

#include "keys/inside.h"

/* Shorter lines of base64 are words of prose. */
#define BASE64_LINE_MIN 40
/* Longer ones behind a mark are the items of a list, each a text of its own. */
#define MARKED_LINE_MAX 80

bool
fold_is_dn(struct kv_span text)
{
	return text.len > 3 && (text.p[0] | 0x20) == 'd' &&
	    (text.p[1] | 0x20) == 'n' && text.p[2] == ':';
}

static bool
is_name_char(uint8_t c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == ';' || c == '.';
}

/* A line may end in the name of an attribute. */
bool
fold_is_attribute(struct kv_span text)
{
	size_t n = 0;

	if (text.len == 0 || text.p[0] <= ' ')
		return false;
	while (n < text.len && is_name_char(text.p[n]))
		n++;
	return n == text.len || text.p[0] == '#' ||
	    memchr(text.p, ':', text.len) != NULL;
}

static struct kv_span
trim(struct kv_span s)
{
	while (s.len > 0 && s.p[s.len - 1] <= ' ')
		s.len--;
	while (s.len > 0 && s.p[0] <= ' ') {
		s.p++;
		s.len--;
	}
	return s;
}

bool
fold_is_blank(struct kv_span text)
{
	return trim(text).len == 0;
}

/* False if there is no memory, or the line would get too long. */
static bool
append(struct fold *f, struct kv_span text)
{
	size_t cap = 2 * (f->len + text.len) + 1024;
	uint8_t *more;

	if (f->len + text.len > FOLD_MAX_BYTES)
		return false;
	if (f->text == NULL || f->cap < f->len + text.len) {
		if ((more = malloc(cap)) == NULL)
			return false;
		if (f->text != NULL) {
			memcpy(more, f->text, f->len);
			explicit_bzero(f->text, f->cap);
			free(f->text);
		}
		f->text = more;
		f->cap = cap;
	}
	if (text.len > 0)
		memcpy(f->text + f->len, text.p, text.len);
	f->len += text.len;
	return true;
}

static bool
is_padded(struct kv_span word)
{
	return word.len > 0 && word.p[word.len - 1] == '=';
}

/*
 * Returns the byte before each line of a diff or a quoted mail; 0: there is
 * none. No key that starts with + is known: its first byte would be 0xf8 to 0xfb.
 */
static uint8_t
mark_of_line(struct kv_span text)
{
	static const char marks[] = "+->";

	return text.len > 0 &&
		memchr(marks, text.p[0], sizeof(marks) - 1) != NULL ?
	    text.p[0] :
	    0;
}

/* Returns what follows the mark, without blanks. */
static struct kv_span
word_of_line(struct kv_span text, uint8_t mark)
{
	const size_t n = mark != 0;

	return trim((struct kv_span){ text.p + n, text.len - n });
}

bool
fold_start(struct fold *f, struct kv_span text, bool ldif, uint64_t line)
{
	const uint8_t mark = ldif ? 0 : mark_of_line(text);
	const struct kv_span word = word_of_line(text, mark);

	if (!(ldif && fold_is_attribute(text)) &&
	    !(inside_is_base64(word) && word.len >= BASE64_LINE_MIN))
		return false;
	if (mark != 0 && word.len > MARKED_LINE_MAX)
		return false;
	if (!ldif && inside_is_key(word))
		return false;
	f->ldif = ldif;
	f->line = line;
	f->mark = mark;
	f->width = word.len;
	f->ended = is_padded(word);
	return append(f, ldif ? text : word);
}

bool
fold_add(struct fold *f, struct kv_span text)
{
	struct kv_span word;

	if (f->ldif)
		return text.len > 0 && text.p[0] == ' ' &&
		    append(f, (struct kv_span){ text.p + 1, text.len - 1 });
	if (f->mark != 0 && (text.len == 0 || text.p[0] != f->mark))
		return false;
	word = word_of_line(text, f->mark);
	/* Lines of other lengths are other texts: a name would shift the letters. */
	if (f->ended || word.len > f->width || !inside_is_base64(word))
		return false;
	f->ended = word.len < f->width || is_padded(word);
	return append(f, word);
}

void
fold_free(struct fold *f)
{
	if (f->text != NULL)
		explicit_bzero(f->text, f->cap);
	free(f->text);
	*f = (struct fold){ 0 };
}
