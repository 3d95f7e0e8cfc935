/* SPDX-License-Identifier: ISC */
#include "keys/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "keys/pem.h"
#include "kv_base64.h"
#include "kv_line.h"

/* Every SSH key begins with the length of a short name. */
#define START "AAAA"
/* A shorter word of base64 holds no key. */
#define WORD_MIN 16
/* The shortest key has 51 bytes. Far shorter ones are examples in prose. */
#define BLOB_MIN_BYTES 36
/* Base64 that holds the name of any type. */
#define NAME_MAX_CHARS 96
/* Text in JSON in JSON has two rounds of escapes. */
#define ROUNDS_MAX 3
/*
 * A longer comment is cut off: each of ten thousand keys on one line would have
 * the rest of it.
 */
#define COMMENT_MAX 1024
/* How far back the start of a line is looked for. */
#define LINE_BACK_MAX 65536

struct finder {
	inside_fn found;
	void *arg;
	uint8_t *blob;
	struct kv_span text;
	size_t given;
};

static int
hex_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads n hexadecimal digits; -1 if there are fewer. */
static long
read_hex(struct kv_span s, size_t n)
{
	long value = 0;

	if (s.len < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_value(s.p[i]);

		if (digit == -1)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Reads "#43;" or "#x2b;", and sets *usedp; -1 for another text. */
static long
read_entity(struct kv_span s, size_t *usedp)
{
	long value = 0;
	size_t i = 1;
	bool hex;

	*usedp = 0;
	if (s.len > 4 && memcmp(s.p, "nbsp;", 5) == 0) {
		*usedp = 5;
		return ' ';
	}
	if (s.len < 3 || s.p[0] != '#')
		return -1;
	hex = (s.p[1] | 0x20) == 'x';
	for (i += hex; i < s.len && i < 9 && s.p[i] != ';'; i++) {
		int digit = hex_value(s.p[i]);

		if (digit == -1 || (!hex && digit > 9))
			return -1;
		value = value * (hex ? 16 : 10) + digit;
	}
	*usedp = i + 1;
	return i < s.len && s.p[i] == ';' ? value : -1;
}

/*
 * Reads the escape that s starts with, and sets *usedp to its length. Returns
 * its character, '?' for one that no key has, or -1 if it is no escape.
 */
static int
read_escape(struct kv_span s, size_t *usedp)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	struct kv_span rest = { s.p + 1, s.len - 1 };
	const char *found;
	long value = -1;

	if (rest.len == 0)
		return -1;
	if (s.p[0] == '%') {
		*usedp = 3;
		value = read_hex(rest, 2);
	} else if (s.p[0] == '&') {
		value = read_entity(rest, usedp);
		(*usedp)++;
	} else if (rest.p[0] == 'u' || rest.p[0] == 'x') {
		*usedp = rest.p[0] == 'u' ? 6 : 4;
		value = read_hex((struct kv_span){ rest.p + 1, rest.len - 1 },
		    *usedp - 2);
	} else {
		*usedp = 2;
		found = memchr(from, rest.p[0], sizeof(from) - 1);
		if (found != NULL)
			value = (unsigned char)to[found - from];
		else if (rest.p[0] > ' ' && rest.p[0] < 0x7f &&
		    (!base64_is_digit(rest.p[0]) || rest.p[0] == '/' ||
			rest.p[0] == '+'))
			value = rest.p[0];
	}
	if (value == -1)
		return -1;
	return value < 0x80 ? (int)value : '?';
}

/*
 * Replaces the escapes in text, once and in place. Returns whether there was any,
 * and sets *lenp to the new length.
 */
static bool
unescape(uint8_t *text, size_t *lenp)
{
	size_t len = *lenp, out = 0, used;

	for (size_t i = 0; i < len; i += used) {
		int c = -1;

		if (text[i] == '\\' || text[i] == '%' || text[i] == '&')
			c = read_escape((struct kv_span){ text + i, len - i },
			    &used);
		if (c == -1)
			used = 1;
		text[out++] = c == -1 ? text[i] : (uint8_t)c;
	}
	*lenp = out;
	return out < len;
}

/* The word, such as ssh-rsa, before the blanks before at. */
static struct kv_span
word_before(struct kv_span text, size_t at)
{
	size_t end = at, start;

	while (end > 0 && (text.p[end - 1] == ' ' || text.p[end - 1] == '\t'))
		end--;
	start = end;
	while (start > 0 && end - start < KV_KEYTYPE_NAME_BYTES &&
	    ((base64_is_digit(text.p[start - 1]) && text.p[start - 1] != '/' &&
		 text.p[start - 1] != '+') ||
		text.p[start - 1] == '-' || text.p[start - 1] == '.' ||
		text.p[start - 1] == '@'))
		start--;
	return (struct kv_span){ text.p + start, end == at ? 0 : end - start };
}

/* The text behind a key, up to a quote or another mark that may end it. */
static struct kv_span
comment_at(struct kv_span text, size_t at)
{
	struct kv_span comment;
	size_t end;

	while (at < text.len && (text.p[at] == ' ' || text.p[at] == '\t'))
		at++;
	if (text.len - at > COMMENT_MAX)
		text.len = at + COMMENT_MAX;
	for (end = at; end < text.len && text.p[end] >= ' ' &&
	     strchr("\"'<>,;\\`]}", text.p[end]) == NULL;
	     end++)
		;
	comment = (struct kv_span){ text.p + at, end - at };
	while (comment.len > 0 && comment.p[comment.len - 1] == ' ')
		comment.len--;
	return comment;
}

/* Tells if the line of at is a comment, and not the first line. */
static bool
is_in_comment(struct kv_span text, size_t at)
{
	size_t from = at > LINE_BACK_MAX ? at - LINE_BACK_MAX : 0;
	const uint8_t *p = at > from ? memrchr(text.p + from, '\n', at - from) :
				       NULL;

	if (p == NULL)
		return false;
	do
		p++;
	while (p < text.p + at && (*p == ' ' || *p == '\t'));
	return *p == '#';
}

static void
report(struct finder *f, const struct inside_found *found)
{
	f->given += found->is != INSIDE_TEXT;
	f->found(found, f->arg);
}

static void
report_problem(struct finder *f, const char *reason)
{
	report(f, &(struct inside_found){ INSIDE_PROBLEM, .reason = reason });
}

static void
report_text(struct finder *f, enum inside_is is, struct kv_span text)
{
	report(f, &(struct inside_found){ is, .text = text });
}

static void
report_key(struct finder *f, const struct kv_sshkey *key, size_t end)
{
	struct inside_found found = { INSIDE_KEY, .key = key };

	if (end < f->text.len &&
	    (f->text.p[end] == ' ' || f->text.p[end] == '\t'))
		found.text = comment_at(f->text, end);
	report(f, &found);
}

/* Reads the name in the base64 at p. False if no name is there. */
static bool
read_name(struct finder *f, struct kv_span base64, struct kv_span *namep)
{
	const size_t len = base64.len < NAME_MAX_CHARS ?
	    base64.len :
	    NAME_MAX_CHARS;
	struct kv_bytes b = { f->blob,
		kv_base64_decode_groups(base64.p, len, f->blob,
		    KV_BLOB_MAX_BYTES) /
		    4 * 3 };

	if (kv_bytes_get_name(&b, namep) != KV_OK || namep->len == 0)
		return false;
	for (size_t i = 0; i < namep->len; i++) {
		if (namep->p[i] <= ' ' || namep->p[i] > '~')
			return false;
	}
	return true;
}

/* Reads all of the base64, with its padding, as sshd would. */
static enum kv_err
read_whole(struct finder *f, struct kv_span base64, struct kv_span word,
    size_t *lenp, struct kv_sshkey *key)
{
	const struct kv_keyname *kn = kv_keyname_find(word);
	enum kv_err err;

	err = kv_base64_decode((const char *)base64.p, base64.len, f->blob,
	    KV_BLOB_MAX_BYTES, lenp);
	if (err != KV_OK) {
		*lenp = base64.len / 4 * 3;
		return err;
	}
	if ((err = kv_sshkey_parse(f->blob, *lenp, key)) != KV_OK)
		return err;
	if (kn != NULL &&
	    (key->key.type != kn->type || key->is_cert != kn->is_cert))
		return KV_ERR_TYPE_MISMATCH;
	return KV_OK;
}

/* Looks at the word of base64 of at, which begins with AAAA. */
static void
read_word(struct finder *f, size_t at, size_t end, size_t padding)
{
	const struct kv_span base64 = { f->text.p + at, end - at };
	const struct kv_span word = word_before(f->text, at);
	struct kv_span name;
	struct kv_sshkey key;
	bool any_curve;
	enum kv_err err;
	size_t len;

	if (!read_name(f, base64, &name) || is_in_comment(f->text, at))
		return;
	if (kv_keyname_find_in_blob(name, &any_curve) == NULL) {
		if (word.len > 0 && kv_span_equal(name, word))
			report_text(f, INSIDE_UNKNOWN, word);
		return;
	}
	err = read_whole(f, (struct kv_span){ base64.p, base64.len + padding },
	    word, &len, &key);
	if (err == KV_OK)
		report_key(f, &key, end + padding);
	else if (err == KV_ERR_TYPE_MISMATCH || len >= BLOB_MIN_BYTES)
		report_problem(f, kv_strerror(err));
}

/* Looks for keys in the words of base64 between two places of the text. */
static void
find_words(struct finder *f, size_t at, size_t stop)
{
	const uint8_t *p = f->text.p;

	report_text(f, INSIDE_TEXT, (struct kv_span){ p + at, stop - at });
	while (at < stop) {
		size_t start, padding = 0;

		while (at < stop && !base64_is_digit(p[at]))
			at++;
		start = at;
		while (at < stop && base64_is_digit(p[at]))
			at++;
		while (padding < 2 && at + padding < stop &&
		    p[at + padding] == '=')
			padding++;
		if (at - start >= WORD_MIN && memcmp(p + start, START, 4) == 0)
			read_word(f, start, at, padding);
	}
}

/* Gives a block with its BEGIN and END on lines of their own. */
static void
report_block(struct finder *f, const struct pem_place *place)
{
	const size_t cap = place->begin.len + place->body.len + place->end.len +
	    3;
	uint8_t *block = malloc(cap), *p = block;

	if (block == NULL) {
		report_problem(f, kv_strerror(KV_ERR_MEMORY));
		return;
	}
	p = mempcpy(p, place->begin.p, place->begin.len);
	*p++ = '\n';
	if (place->body.len > 0)
		p = mempcpy(p, place->body.p, place->body.len);
	*p++ = '\n';
	p = mempcpy(p, place->end.p, place->end.len);
	*p++ = '\n';
	report_text(f, INSIDE_BLOCK,
	    (struct kv_span){ block, (size_t)(p - block) });
	explicit_bzero(block, cap);
	free(block);
}

/* Looks for keys, and for the blocks of PEM that are there as a whole. */
static void
find_all(struct finder *f)
{
	struct pem_place place;
	size_t at = 0;

	while (pem_find((struct kv_span){ f->text.p + at, f->text.len - at },
	    &place)) {
		find_words(f, at, (size_t)(place.begin.p - f->text.p));
		report_block(f, &place);
		at = (size_t)(place.end.p - f->text.p) + place.end.len;
	}
	find_words(f, at, f->text.len);
}

static bool
has_escape(struct kv_span text)
{
	return memchr(text.p, '\\', text.len) != NULL ||
	    memchr(text.p, '%', text.len) != NULL ||
	    memchr(text.p, '&', text.len) != NULL;
}

size_t
inside_find(struct kv_span text, uint8_t *blob, inside_fn found, void *arg)
{
	struct finder f = {
		.found = found,
		.arg = arg,
		.blob = blob,
		.text = text,
	};
	uint8_t *copy = NULL;

	if (text.len == 0)
		return 0;
	if (has_escape(text)) {
		if ((copy = malloc(text.len)) == NULL) {
			report_problem(&f, kv_strerror(KV_ERR_MEMORY));
			return f.given;
		}
		memcpy(copy, text.p, text.len);
		f.text.p = copy;
		for (int i = 0; i < ROUNDS_MAX && unescape(copy, &f.text.len);
		     i++)
			;
	}
	find_all(&f);
	if (copy != NULL)
		explicit_bzero(copy, text.len);
	free(copy);
	return f.given;
}
